"""What two branches differ in, and the choice of the two; a pull request begins here."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

from litestar import Response, get

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.api.changes import MORE_FILES, file_shown, read_diff, text_page
from ingot_web.api.frames import RepositoryFrame
from ingot_web.api.history import COMMITS, LISTED
from ingot_web.api.request import Form, WebRequest


@get("/{owner:str}/{repo:str}/compare", policy=anyone(), include_in_schema=False)
async def choose_comparison(request: WebRequest) -> Response[Any]:
    """Which branches are compared."""
    frame = RepositoryFrame(request)
    base, head = (request.query_params.get(name, "") for name in ("base", "head"))
    if base and head:
        return frame.redirect(f"/compare/{quote(base)}...{quote(head)}")
    return await _choice_page(frame, base, head)


async def _choice_page(frame: RepositoryFrame, base: str, head: str, *, unknown: str = "") -> Response[str]:
    """The branches, the latest first; ``unknown`` is what was chosen and is not there."""
    (listing,) = await frame.load(frame.forge.listing("repos", frame.api("branches"), limit=50))
    listing.rows.sort(key=lambda row: datetime.fromisoformat(row["commit"]["timestamp"]), reverse=True)
    return frame.render(
        "repository/compare.html",
        tab="pulls",
        title="Compare",
        status=404 if unknown else 200,
        branches=listing,
        base_name=base or frame.repository["default_branch"],
        head_name=head,
        compared=None,
        changes=None,
        pages=frame.request.pages_of(0),
        problem=f"There is no branch {unknown}." if unknown else "",
        form=Form(),
    )


@get("/{owner:str}/{repo:str}/compare/{basehead:path}", policy=anyone(), include_in_schema=False)
async def compare(request: WebRequest) -> Response[str]:
    """What one branch has that another has not, as text if that is asked for; a pull request is opened here."""
    frame = RepositoryFrame(request)
    if request.query_params.get("output") == "diff":
        return await text_page(frame, frame.api("compare", request.rest(3)), output="diff")
    return await comparison_page(frame)


async def comparison_page(
    frame: RepositoryFrame, *, problem: ApiError | None = None, form: Form | None = None
) -> Response[str]:
    """The comparison with the form of a new pull request, and what was wrong with the last one; a choice if a branch is unknown."""
    basehead = frame.request.rest(3)
    base, separator, head = basehead.partition("..." if "..." in basehead else "..")
    if not separator:
        base, head = "", basehead
    try:
        compared, (changes, pages), listing = await frame.load(
            frame.forge.get("repos", frame.api("compare", basehead), limit=COMMITS, **LISTED),
            read_diff(frame, "repos", frame.api("compare", basehead), output="diff"),
            frame.forge.listing("repos", frame.api("branches"), limit=50),
        )
    except NotFound:
        if frame.repository is None or not head or file_shown(frame.request):
            raise
        name = base or frame.repository["default_branch"]
        if await _is_there(frame, name):
            return await _choice_page(frame, name, head, unknown=head)
        return await _choice_page(frame, "", head, unknown=name)
    if changes is not None:
        changes.before, changes.after = compared.get("before", ""), compared.get("after", "")
        changes.head_repo = compared.get("head_repo", "")
        changes.text = f"/compare/{quote(basehead)}?output=diff"
    base = base or frame.repository["default_branch"]
    return frame.render(
        "repository/compare.html",
        in_place="" if problem else MORE_FILES,
        tab="pulls",
        title=f"{base} and {head}",
        error=problem,
        branches=listing,
        base_name=base,
        head_name=head,
        compared=compared,
        changes=changes,
        pages=pages,
        form=form or Form(),
    )


async def _is_there(frame: RepositoryFrame, name: str) -> bool:
    """Whether a branch, a tag or a commit has that name."""
    return bool(await frame.forge.get_if_there("repos", frame.api("commits"), sha=name, limit=1, **LISTED))


routes = [choose_comparison, compare]
