"""The text of a diff, parsed into files, hunks and lines for a page."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from ingot_web.pages.rules.pictures import PICTURES

MOST_FILES = 200
MOST_LINES = 300
"""Maximum number of lines on a page of several files. A page of one file has more."""
LINES = 2000
"""Maximum number of lines on a page of a single file."""
CONTEXT = 3
"""Number of lines that git shows around changes. With fewer lines below a change, the file ends there."""
_HEAD = "\ndiff --git "
_BINARY = ("Binary files ", "GIT binary patch")
_CONTENTS = re.compile(r"index [0-9a-f]{40,64}\.\.[0-9a-f]{40,64}")
"""Ids of a file before and after. They must be complete, because short ids are ambiguous."""
_POSITION = re.compile(r"([0-9]{1,4})([LR])([0-9]{1,9})")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")


@dataclass(frozen=True)
class Gap:
    """Unchanged lines that a diff omits, by their new numbers.

    An old number is the new number plus ``shift``. ``last`` is 0 if the lines continue to the end of the
    file.
    """

    first: int
    last: int
    shift: int


@dataclass
class DiffLine:
    """A line of a diff. ``kind`` is "add", "del", "context" or "hunk".

    The number of a side is None if the line is not on that side.
    """

    kind: str
    text: str
    old: int | None = None
    new: int | None = None
    html: str | None = None
    """The highlighted text; None if it is not highlighted."""
    conversations: list[Any] = field(default_factory=list)
    """Conversations about the line."""
    has_form: bool = False
    """True if the form of a comment is open below the line."""
    gap: Gap | None = None
    """Lines that are omitted above a hunk."""


@dataclass(frozen=True)
class FileView:
    """The viewer's state of a file.

    ``is_same``: viewed with these changes; ``is_outdated``: with earlier changes.

    ``path`` and ``changes`` are digests.
    """

    path: str
    changes: str
    is_same: bool
    is_outdated: bool


@dataclass
class DiffFile:
    """A file of a diff. ``status`` is added, deleted, renamed, or changed."""

    path: str
    number: int = 1
    """Number of the file among all changed files."""
    old_path: str = ""
    status: str = "changed"
    is_binary: bool = False
    additions: int = 0
    deletions: int = 0
    lines: list[DiffLine] = field(default_factory=list)
    omitted: int = 0
    """Number of lines that are not shown."""
    length: int = 0
    """Number of all lines, including those that begin a hunk."""
    rest: Gap | None = None
    """Lines that are omitted below the last line."""
    is_later: bool = False
    """True if its lines are loaded on request, because files before it fill the page."""
    is_folded: bool = False
    """True if it is generated or vendored, so few people read it."""
    is_named_only: bool = False
    """True if only white space changed and such changes are hidden."""
    digest: str = ""
    """SHA-256 of the changes, independent of line numbers.

    Empty for a binary file whose diff does not name its contents.
    """
    view: FileView | None = None
    """The viewer's state of the file; None if the viewer cannot mark files as viewed."""

    @property
    def is_picture(self) -> bool:
        return self.is_binary and self.path.lower().endswith(PICTURES)

    @property
    def anchor(self) -> str:
        """Return the anchor of the file on a page. It is the same as on pages of Gitea."""
        return anchor_of(self.path)

    def rows(self) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
        """Yield pairs of lines side by side, before and after the changes. A hunk is on both sides."""
        for left, right in side_by_side([line.kind for line in self.lines]):
            yield None if left is None else self.lines[left], None if right is None else self.lines[right]


@dataclass
class Diff:
    """A diff. ``omitted`` is the number of files that are not shown.

    ``before`` and ``after`` are the commits of shown pictures; empty if unknown. ``head_repo`` is the
    repository that has ``after``, if it is another repository. ``text`` is the path of the raw diff below the
    repository.
    """

    files: list[DiffFile] = field(default_factory=list)
    omitted: int = 0
    before: str = ""
    after: str = ""
    head_repo: str = ""
    text: str = ""
    target: list[tuple[str, str]] = field(default_factory=list)
    """Query of links to other parts of the diff, which pins the compared commits."""
    is_file: bool = False
    """True for a page of a single file."""
    style: str = ""
    """Style of the lines, from the query."""
    hides_spaces: bool = False
    """True if changes of white space are hidden."""

    @property
    def additions(self) -> int:
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)


def anchor_of(path: str) -> str:
    """Return the anchor of a changed file on a page."""
    return f"diff-{hashlib.sha1(path.encode('utf-8', 'replace'), usedforsecurity=False).hexdigest()}"


def parse(
    text: str, number: int = 1, most_lines: int = MOST_LINES, folds: Callable[[str], bool] = lambda _: False
) -> Diff:
    """Parse the output of ``git diff``. ``number`` is the number of its first file.

    ``folds`` is true for paths of files that are folded. At most ``most_lines`` lines are shown. Only the
    first unfolded file is truncated; later files are loaded on request.
    """
    parts = _parts(text)
    digests = _digests(parts)
    diff, room = Diff(omitted=max(0, len(parts) - MOST_FILES)), most_lines
    for place, lines in enumerate(parts[:MOST_FILES], number):
        file = _file(lines, range(min(MOST_LINES, room if room == most_lines else MOST_LINES)))
        file.number, file.digest = place, digests[lines[0]]
        file.is_folded = folds(file.path)
        if file.lines and (file.is_folded or len(file.lines) > room):
            file.omitted = file.additions + file.deletions
            file.lines, file.is_later = [], True
        room -= len(file.lines)
        diff.files.append(file)
    return diff


def parse_file(text: str, number: int, page: int) -> Diff:
    """Parse a diff of one file with this number. Return one page of its lines."""
    parts = _parts(text)
    digests, files = _digests(parts), []
    for lines in parts[:1]:
        file = _file(lines, range((page - 1) * LINES, page * LINES))
        file.number, file.digest = number, digests[lines[0]]
        files.append(file)
    return Diff(files, is_file=True)


def _parts(text: str) -> list[list[str]]:
    """Return the lines of each file. A file whose type changed has two parts with the same first line."""
    # A changed line begins with a sign, so none of them looks like the head of a file.
    return [part.split("\n") for part in f"\n{text}".split(_HEAD)[1:]]


def line_at(diff: Diff, position: str) -> tuple[DiffFile, DiffLine] | None:
    """Return file and line at a position; None if the diff does not show the position.

    "2R17" is line 17 on the right of the second file.
    """
    match = _POSITION.fullmatch(position)
    file = next((one for one in diff.files if match and one.number == int(match[1])), None)
    if match is None or file is None:
        return None
    number = int(match[3])
    for line in file.lines:
        if line.kind != "hunk" and number == (line.old if match[2] == "L" else line.new):
            return file, line
    return None


def side_by_side(kinds: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield indexes of the lines of these kinds as pairs, before and after the changes.

    An unchanged line is paired with itself.
    """
    removed: list[int] = []
    added: list[int] = []
    for index, kind in enumerate(kinds):
        if kind == "del" and not added:
            removed.append(index)
        elif kind == "add":
            added.append(index)
        else:
            yield from zip_longest(removed, added)
            removed, added = [], []
            if kind == "del":
                removed.append(index)
            else:
                yield index, index
    yield from zip_longest(removed, added)


def _file(lines: list[str], part: range) -> DiffFile:
    """Return a file with the lines in ``part``."""
    file = DiffFile(path=_path_of_head(lines[0]), is_named_only=not any(lines[1:]))
    position = 1
    for position in range(1, len(lines)):
        line = lines[position]
        if line.startswith("@@ "):
            break
        _read_head(file, line)
    else:
        return file
    old = new = same = 0
    for line in lines[position:]:
        end = new
        shown, old, new = _line(line, old, new)
        if shown is None:
            continue
        if shown.kind == "hunk" and new > max(end, 1):
            shown.gap = Gap(max(end, 1), new - 1, old - new)
        same = same + 1 if shown.kind == "context" else 0
        file.additions += shown.kind == "add"
        file.deletions += shown.kind == "del"
        if file.length in part:
            file.lines.append(shown)
        else:
            file.omitted += shown.kind != "hunk"
        file.length += 1
    if same >= CONTEXT and file.length - 1 in part:
        file.rest = Gap(new, 0, old - new)
    return file


def _digests(parts: list[list[str]]) -> dict[str, str]:
    """Return the digest of each file over all its parts, by the first line of the parts.

    The digest is empty for a binary file whose contents are unknown.
    """
    hashes: defaultdict[str, Any] = defaultdict(hashlib.sha256)
    unknown = set()
    for lines in parts:
        is_binary = any(line.startswith(_BINARY) for line in lines)
        if is_binary and not any(_CONTENTS.match(line) for line in lines):
            unknown.add(lines[0])
        own = "".join(f"{line}\n" for line in _own_lines(lines, is_binary=is_binary))
        hashes[lines[0]].update(own.encode("utf-8", "replace"))
    return {head: "" if head in unknown else own.hexdigest() for head, own in hashes.items()}


def _own_lines(lines: list[str], *, is_binary: bool) -> Iterator[str]:
    """Yield the lines without data that other changes affect: line numbers, and ids of text files."""
    for line in lines:
        if match := _HUNK.match(line):
            yield f"@@{match[3]}"
        elif line and (is_binary or not line.startswith("index ")):
            yield line


def _read_head(file: DiffFile, line: str) -> None:
    if line.startswith("new file"):
        file.status = "added"
    elif line.startswith("deleted file"):
        file.status = "deleted"
    elif line.startswith("rename from "):
        file.status, file.old_path = "renamed", _unquoted(line.removeprefix("rename from "))
    elif line.startswith("rename to "):
        file.path = _unquoted(line.removeprefix("rename to "))
    elif line.startswith("+++ ") and line != "+++ /dev/null":
        file.path = _unquoted(line.removeprefix("+++ ").rstrip("\t")).removeprefix("b/")
    elif line.startswith("--- ") and line != "--- /dev/null":
        file.path = _unquoted(line.removeprefix("--- ").rstrip("\t")).removeprefix("a/")
    elif line.startswith(_BINARY):
        file.is_binary = True


def _line(line: str, old: int, new: int) -> tuple[DiffLine | None, int, int]:
    """Return the parsed line, or None, and the old and new number of the next line."""
    if match := _HUNK.match(line):
        return DiffLine("hunk", line), int(match[1]), int(match[2])
    sign, text = line[:1], line[1:].rstrip("\r")
    if sign == "+":
        return DiffLine("add", text, None, new), old, new + 1
    if sign == "-":
        return DiffLine("del", text, old, None), old + 1, new
    if sign == " ":
        return DiffLine("context", text, old, new), old + 1, new + 1
    return None, old, new


def _path_of_head(names: str) -> str:
    """Return the path in the first line of a file's diff. It is needed for files without other paths."""
    if names.startswith('"'):
        return _unquoted(names[: names.index('" ') + 1]).removeprefix("a/") if '" ' in names else names
    half = len(names) // 2
    return names[half + 1 :].removeprefix("b/") if names[:half][2:] == names[half + 1 :][2:] else names


def _unquoted(path: str) -> str:
    """Return a path without git's quoting. Octal escapes are bytes."""
    if not (path.startswith('"') and path.endswith('"') and len(path) > 1):
        return path
    raw = path[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape")
    return raw.encode("latin-1", "replace").decode("utf-8", "replace")
