"""Placeholders of people without an account here, and their assignment to an account later."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_contracts.limits import ASSIGNEES
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportedIssue,
    ImportedPerson,
    ImportedPull,
    ImportedRequest,
)
from ingot_issues.imports.rules.fields import one_line
from ingot_issues.imports.store import objects
from ingot_issues.imports.store import placeholders as store
from ingot_issues.imports.store.placeholders import READERS, PlaceholderRow, Role
from ingot_issues.repositories.store import counters

REASSIGN = "reassign"
"""The kind of the jobs that give what placeholders did to accounts."""
BATCH = 500
"""Rows of one transaction."""


class ReassignPeople(msgspec.Struct, frozen=True, kw_only=True):
    """A job that gives work of people of the source to accounts. ``accounts`` has ids by login there."""

    repository_id: int
    accounts: dict[str, int]


class Deed(NamedTuple):
    """A thing that a person did: the role, the issue, and a row of the table of the role, or 0."""

    person: ImportedPerson
    role: Role
    issue_id: int
    row_id: int = 0
    details: Mapping[str, Any] | None = None


async def record(db: Executor, repository_id: int, deeds: Iterable[Deed]) -> None:
    """Add placeholders for those who have no account here."""
    rows = [
        {
            "repository_id": repository_id,
            "person": person_key(one.person.name),
            "role": one.role,
            "issue_id": one.issue_id,
            "row_id": one.row_id,
            "details": None if one.details is None else msgspec.json.encode(one.details).decode(),
        }
        for one in deeds
        if one.person.account_id == GHOST_ID and one.person.name.strip()
    ]
    await store.add_all(db, rows)


def person_key(name: str) -> str:
    return one_line(name).lower()


async def add_reactions(
    db: Executor, repository_id: int, reactions: Sequence[tuple[dict[str, Any], ImportedPerson]]
) -> None:
    """Insert reactions with their placeholders."""
    ids = await objects.add_reactions(db, [row for row, _ in reactions])
    await record(
        db,
        repository_id,
        [
            Deed(person, Role.REACTION, row["issue_id"], row_id)
            for (row, person), row_id in zip(reactions, ids, strict=True)
        ],
    )


def deeds_of(issue_id: int, one: ImportedIssue) -> list[Deed]:
    """Return what people did with a new issue or pull request, except texts and reactions."""
    deeds = [Deed(person, Role.ASSIGNEE, issue_id) for person in one.assignees]
    if isinstance(one, ImportedPull):
        if one.merged_by is not None:
            deeds.append(Deed(one.merged_by, Role.MERGER, issue_id))
        deeds += [
            Deed(request.reviewer, Role.REVIEWER, issue_id, details=request_details(one, request))
            for request in one.requests
        ]
    return deeds


def request_details(one: ImportedPull, request: ImportedRequest) -> dict[str, Any]:
    """Return the columns of a request for a review that do not name the reviewer."""
    return {
        "commit_sha": request.commit_sha,
        "base_branch": one_line(one.base_branch),
        "merge_base": one.merge_base,
        "submitted_at": request.created_at,
        "updated_at": request.created_at,
    }


class _Request(msgspec.Struct):
    commit_sha: str
    base_branch: str
    merge_base: str
    submitted_at: datetime
    updated_at: datetime


async def reassign_texts(
    tx: Tx, table: str, repository_id: int, person: str, account_id: int, after: int
) -> int | None:
    """Make an account the author of rows behind the id ``after``. Return the last id, or None at the end."""
    if not await counters.lock(tx, repository_id):
        return None
    ids = await store.authored_ids(tx, table, repository_id, person, after, BATCH)
    if ids:
        await store.change_authors(tx, table, ids, account_id)
    return ids[-1] if len(ids) == BATCH else None


async def reassign_batch(
    db: Executor, repository_id: int, person: str, account_id: int, *, is_reader: bool
) -> bool:
    """Give the first placeholders of a person to an account. Return False if none is left.

    Without access to the repository an account becomes no assignee or reviewer; those placeholders stay.
    """
    roles = [role for role in Role if is_reader or role not in READERS]
    rows = await store.list_first(db, repository_id, person, roles, BATCH)
    groups = defaultdict[Role, list[PlaceholderRow]](list)
    for row in rows:
        groups[Role(row.role)].append(row)
    for role, change in (
        (Role.REACTION, store.change_reactions),
        (Role.TIME, store.change_times),
        (Role.RESOLVER, store.change_resolvers),
    ):
        if groups[role]:
            await change(db, [row.row_id for row in groups[role]], account_id)
    if mergers := groups[Role.MERGER]:
        await store.change_mergers(db, [row.issue_id for row in mergers], account_id)
    await _assign(db, [row.issue_id for row in groups[Role.ASSIGNEE]], account_id)
    await _request(db, groups[Role.REVIEWER], account_id)
    if rows:
        await store.remove(db, [row.id for row in rows])
    return len(rows) == BATCH


async def _assign(db: Executor, issue_ids: Sequence[int], account_id: int) -> None:
    """Assign an account to issues, behind the assignees that they have."""
    if not issue_ids:
        return
    people = defaultdict[int, dict[int, int]](dict)
    for row in await store.assignees_of(db, issue_ids):
        people[row.issue_id][row.account_id] = row.position
    await store.add_assignees(
        db,
        [
            {
                "issue_id": one,
                "account_id": account_id,
                "position": max(people[one].values(), default=-1) + 1,
            }
            for one in dict.fromkeys(issue_ids)
            if account_id not in people[one] and len(people[one]) < ASSIGNEES
        ],
    )


async def _request(db: Executor, rows: Sequence[PlaceholderRow], account_id: int) -> None:
    """Request reviews of an account, where it has no review and no request."""
    if not rows:
        return
    reviewed = await store.reviewers_of(db, [row.issue_id for row in rows], account_id)
    by_issue = {row.issue_id: row for row in rows if row.issue_id not in reviewed}
    values = []
    for issue_id, row in by_issue.items():
        details = msgspec.json.decode(row.details or "{}", type=_Request)
        values.append({"issue_id": issue_id, "author_id": account_id, **msgspec.structs.asdict(details)})
    await store.add_requests(db, values)
