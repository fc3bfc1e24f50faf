"""Rights to the labels of an organization."""

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.security.principal import Membership, Principal
from ingot_contracts.identity.accounts import Account


def may_read(principal: Principal, organization: Account, membership: Membership | None) -> bool:
    """Return whether the caller may see the organization, and so its labels."""
    if principal.admin or (principal.signed_in and membership is not None):
        return True
    if principal.granted_only:
        return False
    return organization.visibility == "public" or (
        principal.signed_in and organization.visibility == "limited"
    )


def may_write(principal: Principal, membership: Membership | None) -> bool:
    """True if the caller may change labels: an owner of the organization, or a site administrator.

    Tokens restricted to repositories are denied.
    """
    is_owner = membership is not None and membership.owner
    return principal.restricted_to is None and (principal.admin or is_owner)


def require(
    principal: Principal, organization: Account, membership: Membership | None, *, writes: bool
) -> None:
    """Raise NotFound, Unauthenticated or Denied, in this order, for a caller without access.

    A token restricted to repositories can read what anonymous callers can read.
    """
    is_token = principal.restricted_to is not None
    reader, is_in = (principal.unidentified(), None) if is_token else (principal, membership)
    if organization.kind != "organization" or not may_read(reader, organization, is_in):
        raise NotFound
    if writes and not principal.signed_in:
        raise Unauthenticated("sign in to do that")
    if writes and not may_write(principal, membership):
        raise Denied("only owners of the organization may do that")
