"""Events of identity."""

import msgspec

from ingot_contracts.identity.accounts import Account, User
from ingot_contracts.identity.messages import MessageRequested
from ingot_contracts.identity.teams import Team


class UserCreated(msgspec.Struct, frozen=True, kw_only=True, tag="identity.user.created.v1"):
    account: Account


class UserEdited(msgspec.Struct, frozen=True, kw_only=True, tag="identity.user.edited.v1"):
    account: Account
    previous_login: str


class UserDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="identity.user.deleted.v1"):
    user_id: int
    login: str


class OrganizationCreated(msgspec.Struct, frozen=True, kw_only=True, tag="identity.organization.created.v1"):
    account: Account
    owner_id: int


class OrganizationEdited(msgspec.Struct, frozen=True, kw_only=True, tag="identity.organization.edited.v1"):
    account: Account
    previous_login: str


class OrganizationDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="identity.organization.deleted.v1"):
    organization_id: int
    login: str


class MembershipChanged(msgspec.Struct, frozen=True, kw_only=True, tag="identity.membership.changed.v1"):
    """A user joined or left an organization or its teams. ``member`` False: the user left the organization.

    ``teams`` are the ids of the teams the user is now in.
    """

    organization_id: int
    user_id: int
    member: bool
    owner: bool = False
    teams: list[int] = []


class TeamEdited(msgspec.Struct, frozen=True, kw_only=True, tag="identity.team.edited.v1"):
    """Name, description, permission or units of a team changed, but not its members."""

    team: Team


class TeamDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="identity.team.deleted.v1"):
    organization_id: int
    team_id: int


class PurgeRequested(msgspec.Struct, frozen=True, kw_only=True, tag="identity.purge.requested.v1"):
    """All repositories of an account must be deleted. Then identity deletes the account."""

    account_id: int
    requested_by: User


class CredentialsRevoked(msgspec.Struct, frozen=True, kw_only=True, tag="identity.credentials.revoked.v1"):
    """A token was deleted, a password changed or a sign-in forbidden: evict principals of ``user_id``."""

    user_id: int


class OwnershipForgotten(msgspec.Struct, frozen=True, kw_only=True, tag="identity.ownership.forgotten.v1"):
    """Identity has deleted the owner record of a deleted repository."""

    repository_id: int


Event = (
    UserCreated
    | UserEdited
    | UserDeleted
    | OrganizationCreated
    | OrganizationEdited
    | OrganizationDeleted
    | MembershipChanged
    | TeamEdited
    | TeamDeleted
    | PurgeRequested
    | CredentialsRevoked
    | OwnershipForgotten
    | MessageRequested
)
