"""Feeds of activities of users, organizations, teams and repositories, and heatmaps of users."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from litestar import Response, get
from litestar.params import QueryParameter

from ingot_chassis.clock import now
from ingot_chassis.errors import Invalid
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.units import Unit
from ingot_repos.access.api.policies import in_repository, in_team, of_organization, of_user
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.activities import store
from ingot_repos.activities.api.presentation import Activity, UserHeatmapData, activity_view
from ingot_repos.activities.store import ALWAYS, SLOT_SECONDS, ActivityReader, Feed
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.presentation.store import get_related

HEATMAP = timedelta(days=371)
"""The period of a heatmap: 53 weeks."""
_UNITS: tuple[Unit, ...] = ("code", "issues", "pulls", "releases")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
OnlyPerformedBy = Annotated[bool, QueryParameter(name="only-performed-by")]


@get(
    "/api/v1/users/{username:str}/activities/feeds",
    policy=of_user("read:user"),
    operation_id="userListActivityFeeds",
    tags=["user"],
)
async def list_user_feed(
    request: RepositoryRequest, only_performed_by: OnlyPerformedBy = False, date: str = ""
) -> Response[list[Activity]]:
    """List activities of a user and in repositories that the user watches, the latest first.

    - `only-performed-by`: only activities of the user.
    - `date`: only activities of that day, in UTC.

    For an organization, list the activities in its repositories.
    """
    account = request.account
    if account.kind == AccountKind.ORGANIZATION:
        feed = store.OF_OWNER
    elif only_performed_by:
        feed = store.BY_ACTOR
    else:
        feed = store.RECEIVED
    return await _page_of(request, feed, date, user_id=account.id, account_id=account.id)


@get(
    "/api/v1/users/{username:str}/heatmap",
    policy=of_user("read:user"),
    operation_id="userGetHeatmapData",
    tags=["user"],
)
async def get_heatmap(request: RepositoryRequest) -> list[UserHeatmapData]:
    """Return the number of activities of a user in each 15 minutes of the last 53 weeks.

    Only activities that the caller may see are counted.
    """
    reader = _reader(request.principal)
    async with request.db.read() as db:
        slots = await store.list_slots(db, reader, request.account.id, now() - HEATMAP)
    return [UserHeatmapData(row.slot * SLOT_SECONDS, row.contributions) for row in slots]


@get(
    "/api/v1/orgs/{org:str}/activities/feeds",
    policy=of_organization("read:organization"),
    operation_id="orgListActivityFeeds",
    tags=["organization"],
)
async def list_organization_feed(request: RepositoryRequest, date: str = "") -> Response[list[Activity]]:
    """List activities in the repositories of an organization, the latest first.

    With `date`, only activities of that day, in UTC.
    """
    account_id = request.account.id
    return await _page_of(request, store.OF_OWNER, date, user_id=account_id, account_id=account_id)


@get(
    "/api/v1/teams/{team_id:int}/activities/feeds",
    policy=in_team("read:organization"),
    operation_id="orgListTeamActivityFeeds",
    tags=["organization"],
)
async def list_team_feed(request: RepositoryRequest, date: str = "") -> Response[list[Activity]]:
    """List activities in the repositories of a team, the latest first.

    With `date`, only activities of that day, in UTC.
    """
    team = request.team
    owner = team.organization_id
    if access.has_everything(team):
        return await _page_of(request, store.OF_OWNER, date, user_id=owner, account_id=owner)
    return await _page_of(request, store.OF_TEAM, date, user_id=owner, team_id=team.id)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/activities/feeds",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoListActivityFeeds",
    tags=["repository"],
)
async def list_repository_feed(request: RepositoryRequest, date: str = "") -> Response[list[Activity]]:
    """List activities in a repository, the latest first.

    With `date`, only activities of that day, in UTC.
    """
    return await _page_of(request, store.OF_REPOSITORY, date, repository_id=request.resource.id)


async def _page_of(
    request: RepositoryRequest, feed: Feed, date: str, *, user_id: int = 0, **values: Any
) -> Response[list[Activity]]:
    page, principal, presenter = request.page(), request.principal, request.presenter
    reader = _reader(principal)
    async with request.db.read() as db:
        rows, total = await feed.read(db, reader, page, _period(date), **values)
        visible = await repositories.get_visible(db, reader.viewer, {row.repository_id for row in rows})
        related = await get_related(db, reader.viewer, list(visible.values()))
    shown = presenter.repositories(list(visible.values()), related, principal)
    by_id = {one.id: one for one in shown}
    activities = [
        activity_view(presenter, row, by_id[row.repository_id], user_id)
        for row in rows
        if row.repository_id in by_id
    ]
    return Response(activities, headers=request.page_headers(page, total))


def _reader(principal: Principal) -> ActivityReader:
    units: dict[str, Any] = {}
    if access.differs_by_unit(principal):
        units = {unit: access.viewer(principal, unit) for unit in _UNITS}
    return ActivityReader(access.viewer(principal), units)


def _period(date: str) -> tuple[datetime, datetime]:
    """Return the start of a day and of the next day, in UTC. Raises Invalid.

    An empty ``date`` means all time.
    """
    if not date:
        return ALWAYS
    refusal = Invalid.field("date", "format", "is no date such as 2026-01-31")
    if not _DATE.fullmatch(date):
        raise refusal
    try:
        day = datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC)
        return day, day + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise refusal from error


routes = [list_user_feed, get_heatmap, list_organization_feed, list_team_feed, list_repository_feed]
