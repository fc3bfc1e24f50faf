"""Users that a request names by login."""

import asyncio
from collections.abc import Collection

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.limits import ASSIGNEES
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.accounts.rules import find_users


async def resolve_assignees(
    request: IssuesRequest, logins: list[str], current: Collection[int] = ()
) -> list[int]:
    """Return the ids of users who can be assigned.

    Raises Invalid like ``resolve_readers``, and for too many users.
    """
    require_few(logins, "assignees")
    return await resolve_readers(request, logins, "assignee", current)


def require_few(people: Collection[object], field: str) -> None:
    """Raise Invalid if a request names more people than an issue may have."""
    if len(people) > ASSIGNEES:
        raise Invalid.field(field, "length", f"are more than {ASSIGNEES}")


async def resolve_readers(
    request: IssuesRequest, logins: list[str], field: str, current: Collection[int] = ()
) -> list[int]:
    """Return the ids of users who may read the repository. ``field`` is the field of the request.

    Raises Invalid for an unknown login, and for a user without access. It is also raised if the repository's
    owner blocks the user, or the user blocks the caller. ``current`` has ids of users who are already set.
    They and the caller are not checked.
    """
    ids_by_login = await find_users(request.db, request.components.identity, logins)
    for login in logins:
        if login.lower() not in ids_by_login:
            raise Invalid.field(field, "unknown", f"{login!r} is no user")
    ids = list(dict.fromkeys(ids_by_login[login.lower()] for login in logins))
    unchecked = [account_id for account_id in ids if account_id not in (*current, request.principal.id)]
    await asyncio.gather(*(_require_reader(request, account_id, field) for account_id in unchecked))
    return ids


async def _require_reader(request: IssuesRequest, account_id: int, field: str) -> None:
    identity, owner_id = request.components.identity, request.access.repository.owner.id
    try:
        access = await request.components.repos.access_of_user_by_id(account_id, request.repository_id)
        request.require_reader(access)
    except NotFound:
        raise Invalid.field(field, "access", "has no access to the repository") from None
    for blocker_id, blocked_id in ((account_id, request.principal.id), (owner_id, account_id)):
        if blocker_id != blocked_id and await identity.is_blocked(blocker_id, blocked_id):
            raise Invalid.field(field, "blocked", "is blocked by the owner of the repository, or blocks you")
