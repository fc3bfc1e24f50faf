"""Converts rows of accounts to the structs of the API and of other services."""

import hashlib
from datetime import datetime
from typing import cast

import msgspec

from ingot_chassis.db.rows import field_copier
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.accounts import NEVER, Account, Kind, Profile, User, Visibility
from ingot_identity.accounts.store.follows import FollowCounts
from ingot_identity.accounts.store.tables import AccountRow


class Organization(msgspec.Struct, kw_only=True):
    """An organization. `name` equals `username`. All readers of the organization see `email`."""

    id: int
    name: str
    username: str
    full_name: str
    avatar_url: str
    description: str
    website: str
    location: str
    email: str
    visibility: str
    repo_admin_change_team_access: bool


_ORGANIZATION_FIELDS = field_copier(AccountRow, Organization)
"""Fields that every reader of an organization sees. Fields of users depend on the viewer."""


class UserProfile(User, frozen=True, kw_only=True):
    """A user, or an organization in the form of a user, with counts that only identity has.

    Only the user and site administrators see `is_admin`, `active`, `prohibit_login`, `restricted`,
    `language`, `login_name`, `source_id` and `last_login`. They are empty for others. `last_login` is in the
    year 1 if it is empty or if the user has never signed in. A `restricted` user reads only what the user
    owns, and what collaborations, teams and memberships give.
    """

    followers_count: int
    following_count: int


class Presenter:
    """Presents accounts. ``public_url`` is the root of all URLs.

    Addresses in ``noreply_domain`` replace private addresses.
    """

    def __init__(self, public_url: str, noreply_domain: str) -> None:
        self._root, self._noreply = public_url, noreply_domain

    def account(self, row: AccountRow) -> Account:
        """Return the account in the form that other services copy."""
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
            granted_only=is_granted_only(row),
            profile=self._profile(row),
            hide_activity=row.hide_activity,
        )

    def _profile(self, row: AccountRow) -> Profile:
        return Profile(
            html_url=f"{self._root}{row.login}",
            created=whole_seconds(row.created_at),
            description=row.description,
            website=row.website,
            location=row.location,
            visibility=cast("Visibility", row.visibility),
        )

    def user(self, row: AccountRow, counts: FollowCounts | None, viewer: Principal) -> UserProfile:
        """Return the user as ``viewer`` may see them. Addresses are only for callers who are signed in."""
        is_own = viewer.admin or viewer.id == row.id
        return UserProfile(
            id=row.id,
            login=row.login,
            full_name=row.full_name,
            email=self.email(row) if viewer.signed_in else "",
            avatar_url=self.avatar(row),
            **msgspec.structs.asdict(self._profile(row)),
            followers_count=counts.followers if counts else 0,
            following_count=counts.following if counts else 0,
            restricted=is_own and row.restricted,
            is_admin=is_own and row.admin,
            active=is_own and row.active,
            prohibit_login=is_own and row.login_prohibited,
            language=row.language if is_own else "",
            login_name=row.login_name if is_own else "",
            source_id=row.source_id if is_own else 0,
            last_login=whole_seconds(row.last_login_at) if is_own and row.last_login_at else NEVER,
        )

    def organization(self, row: AccountRow) -> Organization:
        """Return an organization in the form of the API."""
        copied = _ORGANIZATION_FIELDS(row)
        return Organization(name=row.login, username=row.login, avatar_url=self.avatar(row), **copied)

    def email(self, row: AccountRow) -> str:
        """Return the address that other users may see: the noreply address if the address is private."""
        return self.noreply_address(row) if row.email_private else row.email

    def noreply_address(self, row: AccountRow) -> str:
        """Return the address in commits of an account with a private address. No other account has it."""
        return f"{row.lower_login}@{self._noreply}"

    def avatar(self, row: AccountRow) -> str:
        """Return the URL of the uploaded picture, or of a picture generated from the shown address.

        A private address is not shown, so a generated picture does not reveal it. The name of a generated
        picture is the MD5 that clients compute, as for Gravatar. Without an address it is the MD5 of the
        login.
        """
        if row.avatar_digest:
            return f"{self._root}avatars/{row.avatar_digest}"
        digest = hashlib.md5((self.email(row) or row.lower_login).lower().encode(), usedforsecurity=False)
        return f"{self._root}avatars/{digest.hexdigest()}"


def is_granted_only(row: AccountRow) -> bool:
    """Return whether the account reads only what it owns or was given. Administrators read everything."""
    return row.restricted and not row.admin


def whole_seconds(moment: datetime) -> datetime:
    """Return the time without fractions of a second, which some clients cannot read."""
    return moment.replace(microsecond=0)
