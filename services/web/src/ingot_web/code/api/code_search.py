"""Search in the files of a branch, a tag or a commit."""

from typing import Any

from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.code.rules.matches import parts_of
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import KINDS, NamedRef, RepositoryFrame, full_id

FILES = 20
"""Of one page."""
LINES = 5
"""Of one file that are shown."""
TEXTS = ("q", "path", "extension")
SWITCHES = ("regexp", "case_sensitive")
LONGEST = 200
"""Characters that repos searches for."""


@get("/{owner:str}/{repo:str}/search", policy=anyone(), include_in_schema=False)
async def search(request: WebRequest) -> Response[Any]:
    """Show the lines that contain ``q`` in the files of ``ref``, such as ``branch/main``.

    Without ``q``, show the form. Without ``ref``, search the default branch.
    """
    frame = RepositoryFrame(request)
    words = {name: request.query_params.get(name, "").strip()[:LONGEST] for name in TEXTS}
    switches = {name: request.query_params.get(name) == "1" for name in SWITCHES}
    ref = await _ref(frame)
    answer = problem = None
    try:
        (answer,) = await frame.load(_answer(frame, ref, words, switches))
    except (Invalid, NotFound) as error:
        if frame.repository is None:
            raise
        problem = error if isinstance(error, Invalid) else None
    if not frame.repository["has_code"]:
        raise NotFound
    return frame.render(
        "code/code_search.html",
        tab="code",
        title="Code search",
        error=problem,
        ref=ref or NamedRef("branch", frame.repository["default_branch"], ""),
        words=words,
        switches=switches,
        answer=answer,
        files=[_shown(file) for file in answer["files"]] if answer else [],
        pages=request.pages_of(answer["total_count"] if answer else 0, FILES),
    )


async def _ref(frame: RepositoryFrame) -> NamedRef | None:
    """Return the ref of the query; None for the default branch. Raises NotFound."""
    kind, _, name = frame.request.query_params.get("ref", "").partition("/")
    if not kind:
        return None
    if kind not in KINDS or not name:
        raise NotFound
    return NamedRef(kind, await full_id(frame, name) if kind == "commit" else name, "")


async def _answer(
    frame: RepositoryFrame, ref: NamedRef | None, words: dict[str, str], switches: dict[str, bool]
) -> Any:
    if not words["q"]:
        return None
    return await frame.forge.get(
        "repos",
        frame.api("code", "search"),
        **words,
        **switches,
        ref=ref.full if ref else "",
        page=frame.request.number,
        limit=FILES,
    )


def _shown(file: Any) -> dict[str, Any]:
    """Return a file with its first lines, each in parts, and the number of omitted lines."""
    lines = [(line["number"], parts_of(line["text"], line["matches"])) for line in file["lines"][:LINES]]
    return {"path": file["path"], "lines": lines, "more": max(0, len(file["lines"]) - LINES)}


routes = [search]
