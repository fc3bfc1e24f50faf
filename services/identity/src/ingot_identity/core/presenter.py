"""How rows of accounts become what other services and the API show of them."""

import hashlib
from datetime import UTC, datetime
from typing import cast

from ingot_chassis.security.principal import Principal
from ingot_contracts.identity import Account, Kind, User, Visibility
from ingot_identity.store.follows import FollowCounts
from ingot_identity.store.tables import AccountRow

NEVER = datetime(1, 1, 1, tzinfo=UTC)


class UserProfile(User, frozen=True, kw_only=True):
    """A user, or an organization in the form of one, with what only identity knows.

    `is_admin`, `active`, `prohibit_login`, `language`, `login_name` and `last_login` are empty for everybody but the
    user and administrators of the site. `last_login` is in the year 1 then, and for who never signed in by password.
    """

    html_url: str
    created: datetime
    visibility: Visibility
    description: str
    website: str
    location: str
    followers_count: int
    following_count: int
    restricted: bool = False
    is_admin: bool = False
    active: bool = False
    prohibit_login: bool = False
    language: str = ""
    login_name: str = ""
    source_id: int = 0
    last_login: datetime = NEVER


class Presenter:
    """Has the public root URL and the domain of the addresses that replace private ones."""

    def __init__(self, public_url: str, noreply_domain: str) -> None:
        self._root, self._noreply = public_url, noreply_domain

    def account(self, row: AccountRow) -> Account:
        """What other services copy."""
        return Account(
            id=row.id,
            kind=cast("Kind", row.kind),
            login=row.login,
            full_name=row.full_name,
            email=self.email(row),
            avatar_url=self.avatar(row),
            active=row.active and not row.login_prohibited,
            visibility=cast("Visibility", row.visibility),
            admin=row.admin,
        )

    def user(self, row: AccountRow, counts: FollowCounts | None, viewer: Principal) -> UserProfile:
        """As ``viewer`` may see it; addresses are for callers who are signed in."""
        is_own = viewer.admin or viewer.id == row.id
        return UserProfile(
            id=row.id,
            login=row.login,
            full_name=row.full_name,
            email=self.email(row) if viewer.signed_in else "",
            avatar_url=self.avatar(row),
            html_url=f"{self._root}{row.login}",
            created=whole_seconds(row.created_at),
            visibility=cast("Visibility", row.visibility),
            description=row.description,
            website=row.website,
            location=row.location,
            followers_count=counts.followers if counts else 0,
            following_count=counts.following if counts else 0,
            is_admin=is_own and row.admin,
            active=is_own and row.active,
            prohibit_login=is_own and row.login_prohibited,
            language=row.language if is_own else "",
            login_name=row.login_name if is_own else "",
            last_login=whole_seconds(row.last_login_at) if is_own and row.last_login_at else NEVER,
        )

    def email(self, row: AccountRow) -> str:
        """The address that may be shown."""
        return f"{row.lower_login}@{self._noreply}" if row.email_private else row.email

    def avatar(self, row: AccountRow) -> str:
        """The URL of the uploaded picture, or of one drawn from the address that is shown.

        The drawn one does not reveal a private address. Its name is what clients compute: MD5, as Gravatar has it.
        """
        if row.avatar_digest:
            return f"{self._root}avatars/{row.avatar_digest}"
        digest = hashlib.md5((self.email(row) or row.lower_login).lower().encode(), usedforsecurity=False)
        return f"{self._root}avatars/{digest.hexdigest()}"


def whole_seconds(moment: datetime) -> datetime:
    """Some clients cannot read fractions of seconds."""
    return moment.replace(microsecond=0)
