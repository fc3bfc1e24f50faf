"""Users and organizations in the form of the API, and owners of accounts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from ingot_contracts.limits import EVENT_FULL_NAME_BYTES, EVENT_URL_BYTES, EventShortText, most_bytes

Kind = Literal["user", "organization"]
Visibility = Literal["public", "limited", "private"]


NEVER = datetime(1, 1, 1, tzinfo=UTC)


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an account that other services only display."""

    html_url: str = ""
    created: datetime = NEVER
    description: str = ""
    website: str = ""
    location: str = ""
    visibility: Visibility = "public"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user or an organization in the form of the API.

    ``username`` repeats ``login`` for newer clients. identity shows the fields "for the user" to the user and
    to site administrators. In other answers they have their defaults.
    """

    id: int
    login: EventShortText
    username: EventShortText = ""
    full_name: Annotated[str, most_bytes(EVENT_FULL_NAME_BYTES)] = ""
    email: EventShortText = ""
    avatar_url: Annotated[str, most_bytes(EVENT_URL_BYTES)] = ""
    html_url: Annotated[str, most_bytes(EVENT_URL_BYTES)] = ""
    created: datetime = NEVER
    description: Annotated[str, most_bytes(EVENT_URL_BYTES)] = ""
    website: EventShortText = ""
    location: EventShortText = ""
    visibility: Visibility = "public"
    restricted: bool = False
    # for the user
    is_admin: bool = False
    active: bool = False
    prohibit_login: bool = False
    language: EventShortText = ""
    login_name: EventShortText = ""
    source_id: int = 0
    last_login: datetime = NEVER

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "username", self.login)


GHOST = User(id=-1, login="Ghost")
"""The account that stands for a user whose account is deleted."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a user or organization that other services copy. ``email`` is the public address.

    ``active``: may sign in. ``admin``: administers the site. ``granted_only``: the account is restricted.
    It reads only its own data and data that it was given access to. False for administrators.
    ``hide_activity``: shows activities only to the account itself and to administrators. ``profile`` and
    ``hide_activity`` are None if identity runs an older release.
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
    granted_only: bool = False
    profile: Profile | None = None
    hide_activity: bool | None = None

    def user(self) -> User:
        """Return the account in the form of the API."""
        return User(
            id=self.id,
            login=self.login,
            full_name=self.full_name,
            email=self.email,
            avatar_url=self.avatar_url,
            **msgspec.structs.asdict(self.profile or Profile()),
        )

    def written_profile(self) -> str | None:
        """Return the profile as text for storage in a copy; ``profile_fields`` parses it."""
        return msgspec.json.encode(self.profile).decode() if self.profile else None


@lru_cache(4096)
def profile_fields(written: str | None) -> Mapping[str, Any]:
    """Return the fields of ``User`` that a copy stores as one text; their defaults without a text."""
    profile = msgspec.json.decode(written, type=Profile) if written else Profile()
    return msgspec.structs.asdict(profile)


def profile_of(user: User) -> Profile | None:
    """Return the profile in the fields of a user; None for a user of the last release."""
    if not user.html_url:
        return None
    return Profile(**{name: getattr(user, name) for name in Profile.__struct_fields__})


class NewOrganization(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/organizations: an organization that ``owner_id`` owns."""

    login: str
    owner_id: int
    visibility: Visibility


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """PUT /internal/repositories/{id}: the owner of a repository that is created or transferred.

    ``before`` is the id of the former owner; 0 for a new repository. DELETE reports that the repository was
    deleted. Events repeat the owner, because a call may fail or arrive after the event.
    """

    owner_id: int
    name: str
    private: bool
    before: int = 0
