"""Owned by identity: how accounts look to the world, who a credential belongs to, and what happened to them."""

from typing import Literal

import msgspec

Kind = Literal["user", "organization"]
Visibility = Literal["public", "limited", "private"]


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person, or an organization that owns something, as the API shows them."""

    id: int
    login: str
    full_name: str = ""
    email: str = ""
    avatar_url: str = ""


GHOST = User(id=-1, login="Ghost")
"""Stands for a person whose account is deleted."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What sister services copy of a user or organization. ``email`` is the one that may be shown.

    ``active``: may sign in. ``admin``: administers the site.
    """

    id: int
    kind: Kind
    login: str
    full_name: str = ""
    email: str = ""
    avatar_url: str = ""
    active: bool = True
    visibility: Visibility = "public"
    admin: bool = False

    def user(self) -> User:
        """As the API shows it."""
        return User(
            id=self.id,
            login=self.login,
            full_name=self.full_name,
            email=self.email,
            avatar_url=self.avatar_url,
        )


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """PUT /internal/repositories/{id}: whose a repository is, told while it is made or given away, before events tell.

    ``before`` is whose it was, 0 for a new one.
    """

    owner_id: int
    name: str
    private: bool
    before: int = 0


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/teams/{id}. ``permission`` is read, write, admin or owner."""

    id: int
    organization_id: int
    name: str
    permission: str


class Authenticate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """POST /internal/authenticate: a credential. Either ``token``, or ``name`` with ``password``.

    ``password`` may be a token too, as git clients send it. ``address`` is the client's, for slowing guesses.
    """

    token: str = ""
    name: str = ""
    password: str = ""
    sudo: str = ""
    address: str = ""


class Authenticated(msgspec.Struct, frozen=True, kw_only=True):
    """The signed principal, and whose it is. ``user_id`` 0: the credential is nobody's."""

    statement: str
    user_id: int


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
    """``member`` False: the user left. ``teams`` are the ids the user is now in."""

    organization_id: int
    user_id: int
    member: bool
    owner: bool = False
    teams: list[int] = []


class TeamDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="identity.team.deleted.v1"):
    organization_id: int
    team_id: int


class CredentialsRevoked(msgspec.Struct, frozen=True, kw_only=True, tag="identity.credentials.revoked.v1"):
    """A token was deleted, a password changed or a sign-in forbidden: forget who ``user_id`` was."""

    user_id: int


class OwnershipForgotten(msgspec.Struct, frozen=True, kw_only=True, tag="identity.ownership.forgotten.v1"):
    """Identity knows nothing any more of a repository that was deleted."""

    repository_id: int


Event = (
    UserCreated
    | UserEdited
    | UserDeleted
    | OrganizationCreated
    | OrganizationEdited
    | OrganizationDeleted
    | MembershipChanged
    | TeamDeleted
    | CredentialsRevoked
    | OwnershipForgotten
)
