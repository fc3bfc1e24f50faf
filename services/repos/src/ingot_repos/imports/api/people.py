"""People of an import: their accounts, and the route that gives them what is theirs."""

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
    """Logins here by logins at the source, as for a new import. ``people_csv`` is the same as CSV."""

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
    """Give accounts what an import brought of people who had none: texts, reviews, releases and the like.

    Only what the ghost has is moved, so a second call moves the rest. An account that cannot read the
    repository becomes no assignee and no reviewer. Only site administrators name other accounts than their
    own.
    """
    request.acquire_slot()
    people = read_people(data.people, data.people_csv)
    if not people:
        raise Invalid.field("people", "required", "names no one")
    accounts = await find_people(request.db, request.part(AccountCopies), people, request.principal)
    async with request.db.transaction() as tx:
        await reassign(tx, request.resource.id, accounts)
        await request.audit(
            tx,
            "repository.reassign_import",
            request.resource.audit_subject,
            id=request.resource.id,
            **audited_people(people),
        )


async def accounts_of(
    request: RepositoryRequest, people: dict[str, str], people_csv: str, *, map_logins: bool = False
) -> dict[str, int]:
    """Return the accounts of a table of people. Raises Invalid, Denied."""
    if map_logins and not request.principal.admin:
        raise Denied("only administrators map users by their logins")
    table = read_people(people, people_csv)
    return await find_people(request.db, request.part(AccountCopies), table, request.principal)


def audited_people(people: Mapping[str, object]) -> dict[str, Any]:
    """Return the first people of a table, their number, and a digest of all of them."""
    lines = sorted(f"{there} is {here}" for there, here in people.items())
    sha256 = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return {"people": lines[:MOST_AUDITED], "people_count": len(lines), "people_sha256": sha256}


routes = [reassign_people]
