"""Owned by identity: how accounts look to the world, who a credential belongs to, and what happened to them."""

from typing import Annotated, Literal

import msgspec

from ingot_contracts.limits import Name

Kind = Literal["user", "organization"]
Visibility = Literal["public", "limited", "private"]
MOST_SIGNATURE_KEYS = 100
"""In one question for keys of each kind."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person, or an organization that owns something, as the API shows them.

    ``username`` is ``login`` under the name that later clients read.
    """

    id: int
    login: str
    username: str = ""
    full_name: str = ""
    email: str = ""
    avatar_url: str = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "username", self.login)


GHOST = User(id=-1, login="Ghost")
"""Stands for a person whose account is deleted."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What other services copy of a user or organization. ``email`` is the one that may be shown.

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
    """PUT /internal/repositories/{id}: the owner of a repository, before any event about it is emitted.

    Sent while a repository is created or transferred. DELETE says that it was deleted, ahead of the event.

    ``before`` is the id of the former owner, 0 for a new repository.
    """

    owner_id: int
    name: str
    private: bool
    before: int = 0


class FindSignatureKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that may have made signatures. ``key_ids``: of OpenPGP keys and subkeys, 16 digits in capital letters.

    ``fingerprints``: of SSH keys (``SHA256:…``).
    """

    key_ids: Annotated[list[Name], msgspec.Meta(max_length=MOST_SIGNATURE_KEYS)] = []
    fingerprints: Annotated[list[Name], msgspec.Meta(max_length=MOST_SIGNATURE_KEYS)] = []


class SignatureKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of somebody. ``id`` is what was asked for, ``certificate`` the OpenPGP key that it is part of.

    ``addresses``: those of the owner, in lower case, for whose commits the key vouches.
    """

    id: str
    owner: Account
    addresses: list[str]
    certificate: bytes = b""


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/teams/{id}, and a list of them from GET /internal/organizations/{id}/teams.

    ``permission`` is read, write, admin or owner. ``units`` are named as the API names them: ``repo.code``.
    Owners has both of the last two.
    """

    id: int
    organization_id: int
    name: str
    permission: str
    description: str = ""
    units: list[str] = []
    includes_all_repositories: bool = False
    can_create_org_repo: bool = False


OWNERS = "Owners"
"""The team that every organization has, and that has every repository of it."""


class Authenticate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """POST /internal/authenticate: a credential. ``token``, or ``name`` with ``password``, or ``session``.

    ``password`` may be a token too, as git clients send it; ``code`` is that of the second factor. ``session`` is the
    secret in the cookie of a browser. ``address`` is the client's, for slowing guesses.
    """

    token: str = ""
    name: str = ""
    password: str = ""
    sudo: str = ""
    address: str = ""
    code: str = ""
    session: str = ""


class RenewPrincipal(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/principals: ``id`` and ``credential`` of a principal; the answer is what it is now."""

    id: int
    credential: Name


class Authenticated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The signed principal, and whose it is. ``user_id`` 0: the credential is nobody's.

    ``needs_code``: name and password are right, and the code of the second factor is missing or wrong.
    """

    principal_token: str = msgspec.field(name="statement")
    user_id: int
    needs_code: bool = False


def session_cookie(public_url: str) -> str:
    """The name of the cookie that has the session of a browser. Over https it reaches no other host (``__Host-``)."""
    return "__Host-ingot-session" if public_url.startswith("https:") else "ingot-session"


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


class TeamEdited(msgspec.Struct, frozen=True, kw_only=True, tag="identity.team.edited.v1"):
    """Its name, description, permission or units are others now. Its members stay."""

    team: Team


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
    | TeamEdited
    | TeamDeleted
    | CredentialsRevoked
    | OwnershipForgotten
)
