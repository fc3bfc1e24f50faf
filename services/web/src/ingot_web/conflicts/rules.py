"""Texts of files in conflict: the choices in a form, and the text that a user may edit."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingot_chassis.errors import Invalid
from ingot_contracts.repos.conflicts import ConflictedFile, ConflictPart, ResolvedFile
from ingot_web.forms.rules.fields import Form

SIDES = ("ours", "theirs", "both")
CONTEXT = 3
"""Lines that are shown before and after a conflict."""


def choice_name(file: int, part: int) -> str:
    """Return the name of the form field that chooses the version of a conflict."""
    return f"choice-{file}-{part}"


def side_names(pull: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the head and the base branch, with their owners if the names are equal."""
    sides = (pull["head"], pull["base"])
    head, base = (side["ref"] for side in sides)
    if head != base or not all(side["repo"] for side in sides):
        return head, base
    head, base = (f"{side['repo']['owner']['login']}:{side['ref']}" for side in sides)
    return head, base


def resolved_files(files: Sequence[ConflictedFile], form: Form, head: str, base: str) -> list[ResolvedFile]:
    """Return the texts that a form chooses. Raises Invalid for the first file with a missing choice."""
    return [
        ResolvedFile(path=file.path, text=_text_of(file, number, form, head, base))
        for number, file in enumerate(files)
    ]


def _text_of(file: ConflictedFile, number: int, form: Form, head: str, base: str) -> str | None:
    if form.has(f"edited-{number}"):
        return _edited(file, form.lines(f"text-{number}"), head, base)
    if file.deleted:
        return _whole(file, form[choice_name(number, 0)])
    texts: list[str] = []
    conflicts = 0
    for position, part in enumerate(file.parts):
        if not part.is_conflict:
            texts.append(part.text)
            continue
        conflicts += 1
        side = form[choice_name(number, position)]
        if side not in SIDES:
            raise Invalid(f"choose a version for conflict {conflicts} of {file.path}, or edit its text")
        texts.append(_lines(part.ours) + part.theirs if side == "both" else getattr(part, side))
    return "".join(texts)


def _whole(file: ConflictedFile, choice: str) -> str | None:
    if choice not in ("keep", "delete"):
        raise Invalid(f"choose whether to keep or to delete {file.path}")
    return None if choice == "delete" else file.parts[0].text


def _edited(file: ConflictedFile, text: str, head: str, base: str) -> str:
    """Return the edited text with the line ends of the file. Raises Invalid if it has conflict markers."""
    first, last = markers(head, base)
    if {first, last} & set(text.split("\n")):
        raise Invalid(f"the text of {file.path} still has conflict markers")
    has_crlf = any("\r\n" in one for part in file.parts for one in (part.text, part.ours, part.theirs))
    return text.replace("\n", "\r\n") if has_crlf else text


def markers(head: str, base: str) -> tuple[str, str]:
    """Return the first and the last line of a conflict in a text to edit."""
    return f"<<<<<<< {head}", f">>>>>>> {base}"


def text_to_edit(file: ConflictedFile, head: str, base: str) -> str:
    """Return the text with conflict markers in git's format."""
    first, last = markers(head, base)
    return "".join(
        f"{first}\n{_lines(part.ours)}=======\n{_lines(part.theirs)}{last}\n"
        if part.is_conflict
        else part.text
        for part in file.parts
    )


def _lines(text: str) -> str:
    """Return the text with a line feed at its end. An empty text stays empty."""
    return text if text.endswith("\n") or not text else f"{text}\n"


def context(parts: Sequence[ConflictPart], position: int) -> str:
    """Return the lines of a part that are next to conflicts.

    Omitted lines between them are replaced by one line "⋯".
    """
    lines = parts[position].text.splitlines(keepends=True)
    first = lines[:CONTEXT] if position else []
    last = lines[-CONTEXT:] if position + 1 < len(parts) else []
    if len(first) + len(last) >= len(lines) and first and last:
        return "".join(lines)
    return "".join(first) + ("⋯\n" if first and last else "") + "".join(last)
