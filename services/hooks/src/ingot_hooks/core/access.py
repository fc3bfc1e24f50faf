"""Who may see and change hooks. The owner of the thing has already said what the caller may do to it."""

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.principal import Membership, Principal
from ingot_contracts.identity import Account
from ingot_contracts.repos import RepositoryAccess, reaches


def require_write(who: Principal, access: RepositoryAccess) -> None:
    """Hooks of a repository are for those who may write to it. Raises Unauthenticated or Denied."""
    if not who.towards(access.repository.id).signed_in:
        raise Unauthenticated("sign in to do that")
    if not reaches(access.level, "write"):
        raise Denied("only for people with write access to the repository")


def suffices(who: Principal, held: Membership | None, *, owner: bool) -> bool:
    """Whether being ``held`` in an organization reaches its hooks; editing them is for owners.

    They tell of all its repositories, so a token that is restricted to some never reaches them.
    """
    return who.confined_to is None and (who.admin or (held is not None and (held.owner or not owner)))


def require_membership(who: Principal, account: Account, held: Membership | None, *, owner: bool) -> None:
    """``held`` is what identity says now. Raises Denied, or NotFound when the caller may not know of it."""
    if suffices(who, held, owner=owner):
        return
    if account.visibility == "private" and (held is None or who.confined_to is not None):
        raise NotFound
    if who.confined_to is not None:
        raise Denied("the token is restricted to other things")
    raise Denied(f"only for {'owners' if owner else 'members'} of the organization")
