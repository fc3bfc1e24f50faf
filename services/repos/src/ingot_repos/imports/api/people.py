"""People of an import: their accounts, and the route that reassigns imported data to accounts."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import post

from ingot_chassis.errors import Denied, Invalid
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.imports.api.policies import imported_repository_by_id
from ingot_repos.imports.rules.people import People, PeopleCsv, find_people, read_people, reassign

MOST_AUDITED = 100
"""Limit of people in an entry of the audit log."""


class ReassignPeople(msgspec.Struct, kw_only=True):
    """A table of people: local logins by logins at the source. `people_csv` is the same table as CSV."""

    people: People = {}
    people_csv: PeopleCsv = ""


@post(
    "/api/v1/repos/migrate/{repository_id:int}/people",
    policy=imported_repository_by_id("admin", "write:repository"),
    operation_id="repoReassignMigrationPeople",
    tags=["repository"],
    status_code=202,
)
async def reassign_people(request: RepositoryRequest, data: ReassignPeople) -> None:
    """Reassign imported data of people without an account, such as texts, reviews and releases, to accounts.

    Only data of the ghost user is reassigned, so the request can be repeated with other people. An account
    that cannot read the repository does not become an assignee or reviewer. Only site administrators can name
    accounts other than their own.
    """
    request.acquire_slot()
    people, accounts = await named_people(request, data)
    async with request.db.transaction() as tx:
        await reassign(tx, request.resource.id, accounts)
        await request.audit(
            tx,
            "repository.reassign_import",
            request.resource.audit_subject,
            id=request.resource.id,
            **audited_people(people),
        )


async def named_people(
    request: RepositoryRequest, data: ReassignPeople
) -> tuple[dict[str, str], dict[str, int]]:
    """Return the table of people in a request, and the ids of the accounts by login at the source.

    Raises Invalid for an empty table and for unknown users. Raises Denied if a caller who is not an
    administrator names another account.
    """
    people = read_people(data.people, data.people_csv)
    if not people:
        raise Invalid.field("people", "required", "names no one")
    return people, await find_people(request.db, request.part(AccountCopies), people, request.principal)


async def accounts_of(
    request: RepositoryRequest, people: dict[str, str], people_csv: str, *, map_logins: bool = False
) -> dict[str, int]:
    """Return the ids of the accounts in a table of people, by login at the source. Raises Invalid, Denied."""
    if map_logins and not request.principal.admin:
        raise Denied("only administrators map users by their logins")
    table = read_people(people, people_csv)
    return await find_people(request.db, request.part(AccountCopies), table, request.principal)


def audited_people(people: Mapping[str, object]) -> dict[str, Any]:
    """Return fields for the audit log: the first people of a table, the number of all, and their digest."""
    lines = sorted(f"{there} is {here}" for there, here in people.items())
    sha256 = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return {"people": lines[:MOST_AUDITED], "people_count": len(lines), "people_sha256": sha256}


routes = [reassign_people]
