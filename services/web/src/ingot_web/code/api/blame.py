"""The route of blame: the commit of each line of a file."""

from asyncio import to_thread
from typing import Any

from litestar import Response, get

from ingot_chassis.errors import TooLarge, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_web.code.api.files import file_in_git
from ingot_web.code.rules.first_lines import first_lines
from ingot_web.code.rules.highlighting import highlight
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import NamedRef, RepositoryFrame


@get("/{owner:str}/{repo:str}/blame/{ref:path}", policy=anyone(), include_in_schema=False)
async def blame(request: WebRequest) -> Response[Any]:
    """Show lines of a file, each with its commit, or the reason why blame is not available."""
    frame = RepositoryFrame(request)
    if redirect := await frame.redirect_from_old_address("blame"):
        return redirect
    ref = await NamedRef.of(frame, 3)
    path = ref.path.split("/")
    ((answer, refusal),) = await frame.load(_answer(frame, ref, path))
    groups, omitted = await _groups(frame, ref, path[-1], answer) if answer else ([], 0)
    return frame.render(
        "code/blame.html",
        tab="code",
        title=f"Blame of {ref.path}",
        ref=ref,
        commits=answer["commits"] if answer else [],
        groups=groups,
        omitted=omitted,
        refusal=refusal,
    )


async def _answer(frame: RepositoryFrame, ref: NamedRef, path: list[str]) -> tuple[Any, str]:
    """Return the blame of a file, or the reason why it is not available."""
    try:
        return await frame.forge.get("repos", frame.api("blame", *path), ref=ref.full), ""
    except TooLarge as error:
        return None, error.message
    except Unavailable:
        return None, "its history is too long to be read in time"


async def _groups(
    frame: RepositoryFrame, ref: NamedRef, name: str, blamed: Any
) -> tuple[list[dict[str, Any]], int]:
    """Return runs of lines with their commit's id, and the number of omitted lines."""
    _, content = await file_in_git(frame, ref, ref.path)
    text, omitted = first_lines(content.decode("utf-8", "replace"))
    lines = await to_thread(highlight, name, text)
    groups = [
        {
            "sha": run["sha"],
            "lines": list(enumerate(lines[run["first"] - 1 : run["first"] - 1 + run["count"]], run["first"])),
        }
        for run in blamed["lines"]
        if run["first"] <= len(lines)
    ]
    return groups, omitted


routes = [blame]
