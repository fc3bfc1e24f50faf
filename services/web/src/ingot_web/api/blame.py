"""Who wrote each line of a file."""

from asyncio import to_thread
from typing import Any

from litestar import Response, get

from ingot_chassis.errors import ApiError, TooLarge, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_web.api.frames import NamedRef, RepositoryFrame
from ingot_web.api.request import WebRequest
from ingot_web.core.highlighting import highlight

REFUSALS = (TooLarge, Unavailable)


@get("/{owner:str}/{repo:str}/blame/{ref:path}", policy=anyone(), include_in_schema=False)
async def blame(request: WebRequest) -> Response[str]:
    """The lines of a file, each beside the commit that it comes from; or why they are not told."""
    frame = RepositoryFrame(request)
    ref = await NamedRef.of(frame, 3)
    path = ref.path.split("/")
    answer, text = await frame.load(
        _answer(frame, ref, path), frame.forge.get("repos", frame.api("contents-ext", *path), ref=ref.name)
    )
    file = text.get("file_contents")
    refusal = answer.message if isinstance(answer, ApiError) else ""
    groups = [] if refusal or file is None else await _groups(frame, ref, file["name"], answer)
    return frame.render(
        "repository/blame.html",
        tab="code",
        title=f"Blame of {ref.path}",
        ref=ref,
        groups=groups,
        refusal=refusal,
    )


async def _answer(frame: RepositoryFrame, ref: NamedRef, path: list[str]) -> Any:
    """What repos says of the lines; an error that says why it does not."""
    try:
        return await frame.forge.get("repos", frame.api("blame", *path), ref=ref.name)
    except REFUSALS as error:
        return error


async def _groups(frame: RepositoryFrame, ref: NamedRef, name: str, blamed: Any) -> list[dict[str, Any]]:
    """Runs of lines with their commit: numbers, coloured lines."""
    raw = await frame.forge.text("repos", frame.api("raw", *ref.path.split("/")), ref=ref.name)
    lines = await to_thread(highlight, name, raw)
    commits = {commit["sha"]: commit for commit in blamed["commits"]}
    return [
        {
            "commit": commits[run["sha"]],
            "lines": list(enumerate(lines[run["first"] - 1 : run["first"] - 1 + run["count"]], run["first"])),
        }
        for run in blamed["lines"]
    ]


routes = [blame]
