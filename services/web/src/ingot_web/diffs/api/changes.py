"""Changes on pages: the requested part of a diff, with links to the other parts; and raw diffs."""

from asyncio import to_thread
from collections.abc import Mapping
from typing import Any

from litestar import Response

from ingot_chassis.errors import NotFound, TooLarge
from ingot_web.diffs.rules.colours import coloured_diff
from ingot_web.diffs.rules.generated_files import Folds, folding
from ingot_web.diffs.rules.parsing import LINES, MOST_LINES, Diff, parse, parse_file
from ingot_web.forms.rules.fields import whole_number
from ingot_web.pages.api.request import HEADERS, WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

_BY_NAME = folding("")
FILES = 20
"""Number of changed files on one page."""
MORE_FILES = "diffs/more_files.html"
"""The template of further files, which are added to the open page."""


async def text_page(frame: RepositoryFrame, path: str, **parameters: str) -> Response[str]:
    """Return a response of repos as plain text."""
    (text,) = await frame.load(frame.forge.text("repos", path, **parameters))
    return Response(text, media_type="text/plain", headers=HEADERS)


def file_shown(request: WebRequest) -> int:
    """Return the number of the requested file of a diff; 0 for a page of all files."""
    return whole_number(request.query_params.get("file", ""), 7) or 0


def hides_spaces(request: WebRequest) -> bool:
    """True if changes of white space are hidden."""
    return request.query_params.get("w") == "1"


async def read_diff(
    frame: RepositoryFrame,
    service: str,
    path: str,
    *,
    size: int = FILES,
    limit: str = "limit",
    folds: Folds = _BY_NAME,
    **parameters: str,
) -> tuple[Diff | None, Mapping[str, Any]]:
    """Return the requested page of a diff, and links to other pages.

    A page has ``size`` files, or lines of one file. The diff is None if the text is too large. ``folds`` is
    true for paths of generated files. ``limit`` is the name of the parameter for the number of files. Raises
    NotFound for a missing file.
    """
    request, number = frame.request, file_shown(frame.request)
    part: dict[str, Any] = {"page": number or request.number, limit: 1 if number else size}
    if hides_spaces(request):
        part["whitespace"] = "ignore-all"
    try:
        answer = await frame.forge.answer(service, path, **part, **parameters)
    except TooLarge:
        return None, request.pages_of(0)
    text = answer.body.decode("utf-8", "replace")
    if not number:
        total = int(answer.headers.get("x-total-count", 0))
        # A list of all files stands next to those of one page.
        room = MOST_LINES if total <= size else MOST_LINES // 2
        changes = await to_thread(_diff, text, (request.number - 1) * size + 1, room, folds)
        _note_view(changes, request)
        return changes, request.pages_of(total or len(changes.files) + changes.omitted, size)
    if request.wants_part:
        changes = await to_thread(_diff, text, number, MOST_LINES)
    else:
        changes = await to_thread(_diff_of_file, text, number, request.number)
    if not changes.files:
        raise NotFound
    _note_view(changes, request)
    return changes, request.pages_of(changes.files[0].length if changes.is_file else 0, LINES)


def _note_view(changes: Diff, request: WebRequest) -> None:
    """Set the style and white space options for links to other pages of the diff."""
    changes.style, changes.hides_spaces = request.query_params.get("style", ""), hides_spaces(request)


def _diff(text: str, number: int, most_lines: int, folds: Folds = lambda _: False) -> Diff:
    return coloured_diff(parse(text, number, most_lines, folds))


def _diff_of_file(text: str, number: int, page: int) -> Diff:
    return coloured_diff(parse_file(text, number, page))
