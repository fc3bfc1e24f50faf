"""Reviewers whose decisions count for a protected branch, by its current rule and their access.

The numbers of SQL statements and of calls to identity do not depend on the number of reviewers.
"""

from asyncio import gather
from collections.abc import Collection

from ingot_chassis.db.database import Database
from ingot_contracts.identity.teams import FindMembers
from ingot_contracts.repos.merges import OfficialReviewers
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.levels import has_everything, writes_code
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import AccountKind, Visibility
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.protection.rules.decisions import branch_rules_of
from ingot_repos.protection.store import BranchRule, read_rule

WRITES, READS = ("write", "admin"), ("read", "write", "admin")
"""Collaborator modes with write access, and all collaborator modes."""


async def official_reviewers(
    db: Database,
    identity: HttpIdentity,
    copies: AccountCopies,
    row: RepositoryRow,
    question: OfficialReviewers,
) -> OfficialReviewers:
    """Return the accounts and teams of ``question`` whose decisions count."""
    async with db.read() as reader:
        protection = (await branch_rules_of(reader, row.id)).of_branch(question.branch)
        granted = await collaborations.team_ids(reader, row.id)
    rule = read_rule(protection) if protection is not None else BranchRule()
    if not rule.enable_approvals_whitelist:
        ids, team_ids = await gather(
            _with_access(db, identity, copies, row, question.ids, granted, writes=True),
            _writing_teams(identity, row, question.team_ids, granted),
        )
        return OfficialReviewers(ids=ids, team_ids=team_ids)
    approving = await _own_teams(identity, row, rule.approvals_whitelist_teams)
    listed = set(rule.approvals_whitelist_username).intersection(question.ids)
    if approving and question.ids:
        query = FindMembers(ids=question.ids, team_ids=approving)
        listed.update(await identity.find_members(row.owner_id, query))
    return OfficialReviewers(
        ids=await _with_access(db, identity, copies, row, listed, granted, writes=False),
        team_ids=sorted(set(approving).intersection(question.team_ids)),
    )


async def _with_access(
    db: Database,
    identity: HttpIdentity,
    copies: AccountCopies,
    row: RepositoryRow,
    ids: Collection[int],
    granted: Collection[int],
    *,
    writes: bool,
) -> list[int]:
    """Return the accounts that may read the repository, or write to it with ``writes``.

    A public repository gives no read access to restricted users.
    """
    if not ids:
        return []
    is_open, to_members = not writes and not row.private, row.owner_visibility == Visibility.PRIVATE
    readers, restricted, others = set[int](), set[int](), set[int]()
    if is_open:
        await copies.fetch_missing(ids)
        async with db.read() as reader:
            restricted.update(await accounts.list_granted_only(reader, ids))
        readers.update(() if to_members else ids)
    if not is_open or to_members or restricted:
        others.update([row.owner_id], await identity.administrators())
        if row.owner_kind == AccountKind.ORGANIZATION:
            others.update(
                await identity.members_of_teams(row.owner_id, sorted(granted), write=writes, units=["code"])
            )
        if is_open and to_members:
            query = FindMembers(ids=sorted(set(ids) - others))
            readers.update(await identity.find_members(row.owner_id, query))
    others |= readers - restricted
    await copies.fetch_missing(others.intersection(ids))
    async with db.read() as reader:
        return await collaborations.list_ids_with_access(
            reader, row.id, ids, others, WRITES if writes else READS
        )


async def _own_teams(identity: HttpIdentity, row: RepositoryRow, team_ids: list[int]) -> list[int]:
    """Return the teams that belong to the owner of the repository.

    After a transfer, rules may still name teams of the former owner.
    """
    if not team_ids or row.owner_kind != AccountKind.ORGANIZATION:
        return []
    return [team.id for team in await identity.teams(row.owner_id, ids=team_ids)]


async def _writing_teams(
    identity: HttpIdentity, row: RepositoryRow, team_ids: list[int], granted: Collection[int]
) -> list[int]:
    """Return the teams that have write access to the repository."""
    if not team_ids or row.owner_kind != AccountKind.ORGANIZATION:
        return []
    teams = await identity.teams(row.owner_id, ids=team_ids)
    return sorted(
        team.id for team in teams if writes_code(team) and (has_everything(team) or team.id in granted)
    )
