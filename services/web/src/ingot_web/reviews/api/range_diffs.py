"""The page that compares two heads of a pull request."""

from contextlib import suppress

from litestar import Response, get

from ingot_chassis.errors import ApiError, NotFound, TooLarge, Unavailable
from ingot_chassis.http.policy import anyone
from ingot_contracts.issues.head_comparisons import HeadComparison
from ingot_web.issues.api.conversations import as_issue
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.reviews.api.checks import statuses_of
from ingot_web.reviews.rules.range_diffs import BADGES, difference_html, head_choices, totals


@get("/{owner:str}/{repo:str}/pulls/{index:int}/range-diff", policy=anyone(), include_in_schema=False)
async def show(request: WebRequest, index: int) -> Response[str]:
    """Show the commits of two heads of a pull request in pairs, and a form that chooses the heads.

    ``old`` and ``new`` in the query are heads. Without them, the form has the heads of the latest push.
    """
    frame = RepositoryFrame(request)
    old, new = (request.query_params.get(name, "") for name in ("old", "new"))
    pull, statuses, (compared, problem) = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)),
        statuses_of(frame, index),
        _compared(frame, index, old, new),
    )
    choices = head_choices(compared.heads, pull["head"]["sha"])
    if not old and not new and len(choices) > 1:
        old, new = choices[1][0], choices[0][0]
    return frame.render(
        "reviews/range_diff.html",
        tab="pulls",
        title=f"Changes between pushes of {pull['title']} #{index}",
        error=problem,
        page_name="range-diff",
        checks=statuses,
        pull=pull,
        issue=as_issue(pull),
        choices=choices,
        old=old,
        new=new,
        comparison=compared.comparison,
        badges=BADGES,
        difference_html=difference_html,
        totals=totals,
    )


async def _compared(
    frame: RepositoryFrame, index: int, old: str, new: str
) -> tuple[HeadComparison, ApiError | None]:
    """Return the heads with their comparison, or with the reason why they cannot be compared."""
    try:
        return await frame.forge.head_comparison(frame.base, index, old, new), None
    except (NotFound, TooLarge) as error:
        problem: ApiError = error
    except Unavailable:  # its words name a service
        problem = Unavailable("these heads could not be compared in time; try again later")
    with suppress(ApiError):
        return await frame.forge.head_comparison(frame.base, index, "", ""), problem
    return HeadComparison(), problem


routes = [show]
