"""The people and teams whom a request asks for reviews."""

import asyncio

import msgspec

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import Team
from ingot_contracts.repos import MergeRule
from ingot_issues.api.assignees import require_few, resolve_readers
from ingot_issues.api.request import IssuesRequest
from ingot_issues.api.texts import Logins
from ingot_issues.core.access import has_everything, may_administer, may_write
from ingot_issues.core.protections import is_official, is_official_team
from ingot_issues.core.reviews import NewRequests
from ingot_issues.store import teams as team_copies


class Reviewers(msgspec.Struct, kw_only=True):
    """Logins of people, and names of teams of the organization that owns the repository."""

    reviewers: Logins = []
    team_reviewers: Logins = []

    @property
    def logins(self) -> list[str]:
        """Each once. Raises Invalid for too many people."""
        return _few_names(self.reviewers, "reviewers")

    @property
    def team_names(self) -> list[str]:
        """Each once. Raises Invalid for too many teams."""
        return _few_names(self.team_reviewers, "team_reviewers")


def _few_names(names: list[str], field: str) -> list[str]:
    distinct = [name for name in dict.fromkeys(names) if name]
    require_few(distinct, field)
    return distinct


async def requests_of(
    request: IssuesRequest, reviewers: Reviewers, *, base_branch: str, author_id: int
) -> NewRequests:
    """Whom ``reviewers`` names. Copies accounts and teams.

    Raises Invalid for who is not there, may not read the repository, or is the author of the pull request.
    """
    account_ids = await resolve_readers(request, reviewers.logins, "reviewers")
    if author_id in account_ids:
        raise Invalid.field("reviewers", "own", "has the author of the pull request")
    teams = await resolve_teams(request, reviewers.team_names)
    if not account_ids and not teams:
        return NewRequests()
    ids_with_access = await _ids_with_access(request, teams)
    for team in teams:
        async with request.db.transaction() as tx:
            await team_copies.save(tx, team)
    identity = request.components.identity
    members = await asyncio.gather(*(identity.team_members(team.id) for team in teams))
    rule = await request.components.repos.merge_rule(
        request.repository_id, base_branch, "", request.principal_token, actor_id=request.principal.id
    )
    return NewRequests(
        account_ids=account_ids,
        official_ids=await _official_ids(request, rule, account_ids),
        teams=teams,
        official_team_ids=[
            team.id
            for team in teams
            if is_official_team(rule, team, has_repository=team.id in ids_with_access)
        ],
        member_ids=sorted({one for ids in members for one in ids} - {author_id}),
    )


async def resolve_teams(request: IssuesRequest, names: list[str]) -> list[Team]:
    """The teams of these names, each once. Raises Invalid, also for who may not know of teams of the organization."""
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
    """Members of the organization, and administrators of the repository."""
    caller = request.principal
    if caller.admin or organization_id in caller.organizations or await request.allowed(may_administer):
        return True
    return await request.components.identity.membership(caller.id, organization_id) is not None


async def _ids_with_access(request: IssuesRequest, teams: list[Team]) -> set[int]:
    """Those of these teams that have the repository. Raises Invalid if one has not, and the repository is private."""
    if not teams:
        return set()
    team_ids = await request.components.repos.team_ids(request.repository_id)
    ids_with_access = {team.id for team in teams if has_everything(team) or team.id in team_ids}
    if request.access.repository.private and len(ids_with_access) < len(teams):
        raise Invalid.field("team_reviewers", "access", "has no access to the repository")
    return ids_with_access


async def _official_ids(request: IssuesRequest, rule: MergeRule, account_ids: list[int]) -> list[int]:
    """Those of these people whose decision will count for the protection of the base branch."""
    identity, repos = request.components.identity, request.components.repos

    async def is_one(account_id: int) -> bool:
        access = await repos.access_of_user_by_id(account_id, request.repository_id)
        team_ids: list[int] = []
        if rule.approving_teams:
            team_ids = await identity.team_ids(account_id, access.repository.owner.id)
        return is_official(rule, account_id, team_ids, writes=may_write(access))

    official = await asyncio.gather(*map(is_one, account_ids))
    return [account_id for account_id, one in zip(account_ids, official, strict=True) if one]
