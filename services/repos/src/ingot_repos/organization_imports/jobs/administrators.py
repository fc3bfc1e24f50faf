"""The right to import: checked again before each change, because an import may take days."""

from ingot_chassis.errors import NotFound
from ingot_repos.clients.identity import HttpIdentity


class NotAdministrator(Exception):
    """The user who began an import is no longer an administrator who may sign in."""


async def may_import(identity: HttpIdentity, user_id: int) -> bool:
    """Return whether a user is an administrator who may sign in. Raises Unavailable."""
    try:
        account = await identity.account(user_id)
    except NotFound:
        return False
    return account.admin and account.active
