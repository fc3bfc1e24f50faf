"""People and teams that a request names as reviewers."""

import asyncio

import msgspec

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity.teams import Team
from ingot_issues.access.api.logins import require_few, resolve_readers
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.api.texts import Logins
from ingot_issues.access.rules.repositories import has_everything, may_administer
from ingot_issues.reviewers.store import teams as team_copies
from ingot_issues.reviews.rules.submission import NewRequests


class Reviewers(msgspec.Struct, kw_only=True):
    """Reviewers: logins of people, and names of teams of the organization that owns the repository."""

    reviewers: Logins = []
    team_reviewers: Logins = []

    @property
    def logins(self) -> list[str]:
        """Return the distinct logins. Raises Invalid for too many."""
        return _few_names(self.reviewers, "reviewers")

    @property
    def team_names(self) -> list[str]:
        """Return the distinct names of teams. Raises Invalid for too many."""
        return _few_names(self.team_reviewers, "team_reviewers")


def _few_names(names: list[str], field: str) -> list[str]:
    distinct = [name for name in dict.fromkeys(names) if name]
    require_few(distinct, field)
    return distinct


async def requests_of(
    request: IssuesRequest, reviewers: Reviewers, *, base_branch: str, author_id: int
) -> NewRequests:
    """Return the people and teams in ``reviewers``. Saves copies of the accounts and teams.

    Raises Invalid for people who do not exist or may not read the repository. Also raises it for the author
    of the pull request, for unknown teams, and for teams without access.
    """
    account_ids = await resolve_readers(request, reviewers.logins, "reviewers")
    if author_id in account_ids:
        raise Invalid.field("reviewers", "own", "has the author of the pull request")
    teams = await resolve_teams(request, reviewers.team_names)
    if not account_ids and not teams:
        return NewRequests()
    await _require_access(request, teams)
    for team in teams:
        async with request.db.transaction() as tx:
            await team_copies.save(tx, team)
    identity = request.components.identity
    members = await asyncio.gather(*(identity.team_members(team.id) for team in teams))
    official = await request.components.repos.official_reviewers(
        request.repository_id, base_branch, account_ids, [team.id for team in teams]
    )
    return NewRequests(
        account_ids=account_ids,
        official_ids=sorted(official.accounts),
        teams=teams,
        official_team_ids=sorted(official.teams),
        member_ids=sorted({one for ids in members for one in ids} - {author_id}),
    )


async def resolve_teams(request: IssuesRequest, names: list[str]) -> list[Team]:
    """Return the distinct teams with these names.

    Raises Invalid, also if the caller may not see the organization's teams.
    """
    if not names:
        return []
    identity, organization_id = request.components.identity, request.access.repository.owner.id
    if request.access.owner_kind != "organization" or not await _knows_teams(request, organization_id):
        raise _unknown(names[0])

    async def find(name: str) -> Team:
        try:
            return await identity.team_by_name(organization_id, name)
        except NotFound:
            raise _unknown(name) from None

    named = await asyncio.gather(*map(find, names))
    return list({team.id: team for team in named}.values())


def _unknown(name: str) -> Invalid:
    return Invalid.field("team_reviewers", "unknown", f"{name!r} is no team of the owner of the repository")


async def _knows_teams(request: IssuesRequest, organization_id: int) -> bool:
    """Return whether the caller is a member of the organization, or administers the repository."""
    caller = request.principal
    if caller.admin or organization_id in caller.organizations or await request.allowed(may_administer):
        return True
    return await request.components.identity.membership(caller.id, organization_id) is not None


async def _require_access(request: IssuesRequest, teams: list[Team]) -> None:
    """Raise Invalid if the repository is private and one of the teams has no access."""
    if not teams or not request.access.repository.private:
        return
    team_ids = await request.components.repos.team_ids(request.repository_id)
    if not all(has_everything(team) or team.id in team_ids for team in teams):
        raise Invalid.field("team_reviewers", "access", "has no access to the repository")
