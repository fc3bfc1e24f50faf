"""Routes that change the selected issues or pull requests of a list at once."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_contracts.issues.bulk_edits import MOST_EDITED, EditOutcome
from ingot_web.forms.rules.fields import Form
from ingot_web.issues.rules.bulk_edits import change_of, refusals, summary
from ingot_web.issues.rules.filters import ListFilter
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

PATHS = [f"/{{owner:str}}/{{repo:str}}/{tab}/edit" for tab in ("issues", "pulls")]
NAMES = {"issues": "issues", "pulls": "pull requests"}
UNITS = {"issues": "has_issues", "pulls": "has_pull_requests"}


def _tab(request: WebRequest) -> str:
    return "pulls" if request.rest(2).startswith("pulls") else "issues"


@get(PATHS, policy=anyone(), include_in_schema=False)
async def choose_changes(request: WebRequest) -> Response[Any]:
    """Show the form for the selected issues. Inside an open list, return only the form."""
    request.require_signed_in()
    return await _page(RepositoryFrame(request), Form(list(request.query_params.multi_items())))


@post(PATHS, policy=anyone(), include_in_schema=False)
async def change(request: WebRequest) -> Response[Any]:
    """Change the selected issues. Redirect to the list, or show the rejected issues with the reasons."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await frame.load()
    tab = _tab(request)
    try:
        edit = change_of(form, is_pull=tab == "pulls")
        outcomes = await frame.forge.edit_issues(frame.base, edit)
    except ApiError as error:
        return await _page(frame, form, error)
    if any(one.refusal for one in outcomes):
        return await _page(frame, form, outcomes=outcomes)
    query = ListFilter.of(parse_qsl(form.text("back"))).query
    return request.redirect_with_outcome(f"{frame.base}/{tab}", summary(outcomes), query)


async def _page(
    frame: RepositoryFrame,
    form: Form,
    problem: ApiError | None = None,
    outcomes: Sequence[EditOutcome] = (),
) -> Response[Any]:
    """Return the form. Rejected issues stay selected. Raises NotFound if the unit is disabled."""
    tab = _tab(frame.request)
    choices, people = await frame.load(
        frame.forge.issue_choices(frame.base),
        frame.forge.listing_if_there("repos", frame.api("assignees")),
    )
    if not frame.repository[UNITS[tab]]:
        raise NotFound
    refused = [one.number for one in outcomes if one.refusal]
    return frame.render(
        "issues/edit_many.html",
        in_place="issues/edit_many_form.html",
        tab=tab,
        title=f"Edit {NAMES[tab]}",
        error=problem,
        status=422 if refused and len(refused) == len(outcomes) else 200,
        heading=f"Edit {NAMES[tab]}",
        form=form,
        numbers=refused or list(dict.fromkeys(form.ids("number")))[:MOST_EDITED],
        back=ListFilter.of(parse_qsl(form.text("back"))).query,
        is_writer=frame.writes(tab),
        choices=choices,
        people=people.rows,
        summary=summary(outcomes),
        refusals=refusals(outcomes),
    )


routes = [choose_changes, change]
