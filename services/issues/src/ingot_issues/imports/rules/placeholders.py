"""Placeholders: work of people without an account here, which an account can get later."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from ingot_chassis.db.driver import Executor
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

REASSIGN = "reassign"
"""The kind of the jobs that give what placeholders did to accounts."""
BATCH = 500
"""Rows of one transaction."""
ROWS_READ = 5_000
"""Rows of texts that are read at once, without a lock."""


class ReassignPeople(msgspec.Struct, frozen=True, kw_only=True):
    """A job that moves work from the ghost to accounts.

    ``accounts`` has account ids by login at the source.
    """

    repository_id: int
    accounts: dict[str, int]


class Deed(NamedTuple):
    """An action of a person on an issue.

    ``row_id`` is a row of the role's table; 0 if the issue identifies it.
    """

    person: ImportedPerson
    role: Role
    issue_id: int
    row_id: int = 0
    details: Mapping[str, Any] | None = None


async def record(db: Executor, repository_id: int, deeds: Iterable[Deed]) -> None:
    """Add placeholders for actions of people who have no account here."""
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
    """Return the actions of people on a new issue or pull request, except texts and reactions."""
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
    """Return the columns of a review request, except the reviewer."""
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


async def next_texts(
    db: Executor, table: str, repository_id: int, accounts: Mapping[str, int], after: int
) -> tuple[dict[int, int], int | None]:
    """Return accounts by the ids of rows after ``after`` that they get. Also return the last id read.

    The last id is None at the end. ``accounts`` has account ids by ``person_key``.
    """
    rows = await store.list_authored(db, table, repository_id, after, ROWS_READ)
    keys = {row.id: person_key(row.original_author) for row in rows}
    theirs = {row_id: accounts[key] for row_id, key in keys.items() if key in accounts}
    return theirs, rows[-1].id if len(rows) == ROWS_READ else None


async def next_placeholders(
    db: Executor, repository_id: int, people: Collection[str], after: tuple[str, int]
) -> tuple[Sequence[PlaceholderRow], tuple[str, int] | None]:
    """Return a batch of placeholders after ``after``, and the person and id of the last one; None at the end.

    ``people`` are keys of ``person_key``.
    """
    rows = await store.list_behind(db, repository_id, people, after, BATCH)
    return rows, (rows[-1].person, rows[-1].id) if len(rows) == BATCH else None


async def give_placeholders(
    db: Executor, rows: Sequence[PlaceholderRow], accounts: Mapping[str, int], readers: Collection[int]
) -> None:
    """Move placeholders to accounts. Placeholders that another job has moved are skipped.

    ``accounts`` has account ids by ``person_key``. Only ``readers`` become assignees or reviewers.
    Placeholders of other accounts with these roles stay.
    """
    possible = [row for row in rows if row.role not in READERS or accounts[row.person] in readers]
    if not possible:
        return
    removed = await store.remove(db, [row.id for row in possible])
    groups = defaultdict[Role, list[PlaceholderRow]](list)
    for row in possible:
        if row.id in removed:
            groups[Role(row.role)].append(row)
    for role, change in (
        (Role.REACTION, store.change_reactions),
        (Role.TIME, store.change_times),
        (Role.RESOLVER, store.change_resolvers),
    ):
        if groups[role]:
            await change(db, {row.row_id: accounts[row.person] for row in groups[role]})
    await store.change_mergers(db, {row.issue_id: accounts[row.person] for row in groups[Role.MERGER]})
    await _assign(db, [(row.issue_id, accounts[row.person]) for row in groups[Role.ASSIGNEE]])
    await _request(db, [(row, accounts[row.person]) for row in groups[Role.REVIEWER]])


async def _assign(db: Executor, pairs: Sequence[tuple[int, int]]) -> None:
    """Assign accounts to issues, after the existing assignees.

    An issue with ``ASSIGNEES`` people gets no more.
    """
    if not pairs:
        return
    people = defaultdict[int, dict[int, int]](dict)
    for row in await store.assignees_of(db, {issue_id for issue_id, _ in pairs}):
        people[row.issue_id][row.account_id] = row.position
    values = []
    for issue_id, account_id in pairs:
        here = people[issue_id]
        if account_id not in here and len(here) < ASSIGNEES:
            here[account_id] = max(here.values(), default=-1) + 1
            values.append({"issue_id": issue_id, "account_id": account_id, "position": here[account_id]})
    await store.add_assignees(db, values)


async def _request(db: Executor, pairs: Sequence[tuple[PlaceholderRow, int]]) -> None:
    """Request reviews from accounts that have no review and no request in the pull request."""
    if not pairs:
        return
    reviewers, values = await store.reviewers_of(db, {row.issue_id for row, _ in pairs}), []
    for row, account_id in pairs:
        if (row.issue_id, account_id) not in reviewers:
            reviewers.add((row.issue_id, account_id))
            details = msgspec.json.decode(row.details or "{}", type=_Request)
            columns = {"issue_id": row.issue_id, "author_id": account_id}
            values.append({**columns, **msgspec.structs.asdict(details)})
    await store.add_requests(db, values)
