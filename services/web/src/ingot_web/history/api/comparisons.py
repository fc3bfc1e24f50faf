"""Routes for comparing two branches, and for the form of a pull request."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

from litestar import Response, get

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.diffs.api.changes import MORE_FILES, file_shown, read_diff, text_page
from ingot_web.forms.rules.fields import Form
from ingot_web.history.api.commits import COMMITS, LISTED
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repositories.api.issue_choices import offered_choices


@get("/{owner:str}/{repo:str}/compare", policy=anyone(), include_in_schema=False)
async def choose_comparison(request: WebRequest) -> Response[Any]:
    """Show the form to choose two branches to compare."""
    frame = RepositoryFrame(request)
    base, head = (request.query_params.get(name, "") for name in ("base", "head"))
    if base and head:
        return frame.redirect(f"/compare/{quote(base)}...{quote(head)}")
    return await _choice_page(frame, base, head)


async def _choice_page(frame: RepositoryFrame, base: str, head: str, *, unknown: str = "") -> Response[str]:
    """Return the page to choose branches, latest first.

    ``unknown`` is a chosen name that does not exist.
    """
    (listing,) = await frame.load(frame.forge.listing("repos", frame.api("branches"), limit=50))
    listing.rows.sort(key=lambda row: datetime.fromisoformat(row["commit"]["timestamp"]), reverse=True)
    return frame.render(
        "history/compare.html",
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
    """Show the changes of one branch against another, with the form of a pull request.

    ``output=diff`` in the query returns them as a raw diff.
    """
    frame = RepositoryFrame(request)
    if request.query_params.get("output") == "diff":
        return await text_page(frame, frame.api("compare", request.rest(3)), output="diff")
    return await comparison_page(frame)


async def comparison_page(
    frame: RepositoryFrame, *, problem: ApiError | None = None, form: Form | None = None
) -> Response[str]:
    """Return the comparison, with the form of a new pull request and its error.

    If a branch does not exist, return the page to choose branches.
    """
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
    opens = compared["commits"] and frame.repository["has_pull_requests"] and not file_shown(frame.request)
    return frame.render(
        "history/compare.html",
        choices=await offered_choices(frame, "pulls") if opens else None,
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
    """True if a branch, a tag or a commit with this name exists."""
    return bool(await frame.forge.get_if_there("repos", frame.api("commits"), sha=name, limit=1, **LISTED))


routes = [choose_comparison, compare]
