"""The route that finds files of a branch, a tag or a commit by words in their paths."""

from typing import Any

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import NamedRef, RepositoryFrame

FILES = 50
"""Maximum number of files in the result."""
LONGEST = 200
"""Maximum characters of a search text in repos."""


@get("/{owner:str}/{repo:str}/find/{ref:path}", policy=anyone(), include_in_schema=False)
async def find(request: WebRequest) -> Response[Any]:
    """List the files whose paths contain all words of ``q``.

    Without ``q``, list the first files of the tree.
    """
    frame = RepositoryFrame(request)
    ref = await NamedRef.of(frame, 3)
    if ref.path:
        raise NotFound
    text = request.query_params.get("q", "").strip()[:LONGEST]
    (tree,) = await frame.load(
        frame.forge.get(
            "repos",
            frame.api("git", "trees", *ref.full.split("/")),
            recursive=True,
            per_page=FILES,
            **({"q": text} if text else {}),
        )
    )
    return frame.render(
        "code/find.html",
        in_place="code/files_found.html",
        tab="code",
        title=f"Find a file in {ref.name}",
        ref=ref,
        text=text,
        files=[entry["path"] for entry in tree["tree"] if entry["type"] == "blob"],
        total=tree["total_count"] if text else None,
    )


routes = [find]
