"""Lines around changes, which a diff omits."""

import re
from asyncio import to_thread
from urllib.parse import quote, urlencode

from litestar import Response, get
from markupsafe import Markup

from ingot_chassis.errors import NotFound, TooLarge
from ingot_chassis.http.policy import anyone
from ingot_web.code.api.files import SHOWN_BYTES, file_in_git
from ingot_web.diffs.rules.colours import coloured_diff
from ingot_web.diffs.rules.parsing import Diff, DiffFile, DiffLine, Gap
from ingot_web.diffs.rules.rows import MORE, gap_row, split_rows, unified_rows
from ingot_web.forms.rules.fields import whole_number
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import NamedRef, RepositoryFrame

_SHIFT = re.compile(r"-?[0-9]{1,7}")


@get("/{owner:str}/{repo:str}/blob_excerpt/{sha:str}", policy=anyone(), include_in_schema=False)
async def excerpt(request: WebRequest, sha: str) -> Response[str] | Response[bytes]:
    """Return some lines of a gap in a diff as rows, with links to the remaining lines.

    Without JavaScript, redirect to the first of these lines in the whole file.
    """
    frame = RepositoryFrame(request)
    query = request.query_params
    path, is_split, shift = query.get("path", ""), query.get("style") == "split", query.get("shift", "")
    first, last = (whole_number(query.get(name, ""), 7) for name in ("first", "last"))
    if not request.wants_part:
        await frame.load()
        return frame.redirect(f"/src/commit/{quote(sha)}/{quote(path)}#L{first or 1}")
    if not path or not first or last is None or not _SHIFT.fullmatch(shift):
        raise NotFound
    (texts,) = await frame.load(_lines(frame, sha, path))
    gap = Gap(first, min(last or len(texts), len(texts)), int(shift))
    shown, rest = _part(gap, is_open=not last, goes_down=query.get("way") == "down")
    lines = [
        DiffLine("context", texts[number - 1].rstrip("\r"), number + gap.shift, number) for number in shown
    ]
    diff = await to_thread(coloured_diff, Diff([DiffFile(path, lines=lines)]))
    rows = (split_rows if is_split else unified_rows)(diff.files[0], "", lambda _: Markup())
    address = f"{request.root}{frame.base}/blob_excerpt/{quote(sha)}?"
    address += urlencode({"path": path, "style": query.get("style", "")})
    between = gap_row(rest, address) if rest else Markup()
    html = str(rows + between if query.get("way") == "down" else between + rows)
    focused = html.replace("<tr", '<tr tabindex="-1" autofocus', 1)
    return request.render("diffs/excerpt.html", rows=Markup(focused))  # noqa: S704 - escaped


async def _lines(frame: RepositoryFrame, sha: str, path: str) -> list[str]:
    """Return the lines of a file in git.

    Raises the errors of ``file_in_git``, and TooLarge for a file of more than ``SHOWN_BYTES``.
    """
    segments = path.split("/")
    listed = await frame.forge.get("repos", frame.api("contents-ext", *segments), ref=sha)
    if (listed.get("file_contents") or {"size": 0})["size"] > SHOWN_BYTES:
        raise TooLarge("the file is too large to be shown here")
    _, content = await file_in_git(frame, NamedRef("commit", sha, path), path)
    return await to_thread(lambda: content.decode("utf-8", "replace").removesuffix("\n").split("\n"))


def _part(gap: Gap, *, is_open: bool, goes_down: bool) -> tuple[range, Gap | None]:
    """Return the range of shown lines, and the rest of the gap.

    ``is_open``: the gap reaches the end of the file.
    """
    if gap.last - gap.first < MORE:
        return range(gap.first, gap.last + 1), None
    if goes_down:
        rest = Gap(gap.first + MORE, 0 if is_open else gap.last, gap.shift)
        return range(gap.first, gap.first + MORE), rest
    return range(gap.last - MORE + 1, gap.last + 1), Gap(gap.first, gap.last - MORE, gap.shift)


routes = [excerpt]
