"""Tables of identity, and the types of their rows.

Users and organizations share one table, hence one sequence of ids and one set of names.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

from ingot_chassis.db.audit import audit_table
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import NAMING, BigId, UtcDateTime, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
audit_table(metadata)


class AccountKind(StrEnum):
    USER = "user"
    ORGANIZATION = "organization"


class AccountVisibility(StrEnum):
    """Of an organization. ``LIMITED``: for everybody who is signed in, ``PRIVATE``: for its members."""

    PUBLIC = "public"
    LIMITED = "limited"
    PRIVATE = "private"


class TeamPermission(StrEnum):
    """``OWNER`` is for the team Owners alone."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    OWNER = "owner"


BY_NAME = ("lower_login", "id")
MEMBERS = ("organization_id", "lower_login", "user_id")


def _partial_index(name: str, where: str, *columns: str, on_sqlite: str = "") -> Index:
    """An index of some rows alone; ``on_sqlite`` is the condition as SQLite writes it, where that differs."""
    return Index(name, *columns, postgresql_where=text(where), sqlite_where=text(on_sqlite or where))


def _index_of(kind: AccountKind, name: str, *columns: str) -> Index:
    """An index of users alone, or of organizations."""
    return _partial_index(name, f"kind = '{kind}'", *columns)


account = Table(
    "account",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("kind", String(12), nullable=False),
    Column("login", String(40), nullable=False),
    Column("lower_login", String(40), nullable=False, unique=True),
    Column("full_name", String(100), nullable=False, default=""),
    Column("description", String(255), nullable=False, default=""),
    Column("website", String(255), nullable=False, default=""),
    Column("location", String(50), nullable=False, default=""),
    Column("visibility", String(10), nullable=False, default="public"),
    Column("email", String(254), nullable=False, default=""),
    Column("email_private", Boolean, nullable=False, default=False),
    Column("password_hash", Text, nullable=False, default=""),
    Column("admin", Boolean, nullable=False, default=False),
    Column("active", Boolean, nullable=False, default=True),
    Column("login_prohibited", Boolean, nullable=False, default=False),
    Column("may_create_organizations", Boolean, nullable=False, default=True, server_default=true()),
    # For clients that send and read it; nothing asks for it. It ends when the person changes the password.
    Column("must_change_password", Boolean, nullable=False, default=False, server_default=false()),
    Column("login_name", String(255), nullable=False, default="", server_default=""),
    Column("language", String(35), nullable=False, default="", server_default=""),
    Column("theme", String(255), nullable=False, default="", server_default=""),
    Column("diff_view_style", String(255), nullable=False, default="", server_default=""),
    Column("hide_activity", Boolean, nullable=False, default=False, server_default=false()),
    Column("repo_admin_change_team_access", Boolean, nullable=False, default=False, server_default=false()),
    # SHA-256 of the uploaded picture, in hex; empty without one.
    Column("avatar_digest", String(64), nullable=False, default="", server_default=""),
    Column("last_login_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    CheckConstraint("kind IN ('user', 'organization')", name="kind"),
    _index_of(AccountKind.USER, "ix_account_users_by_name", "lower_login", "id"),
    _index_of(AccountKind.USER, "ix_account_users_by_creation", "created_at", "id"),
    _index_of(AccountKind.USER, "ix_account_users_by_change", "updated_at", "id"),
    _index_of(
        AccountKind.ORGANIZATION, "ix_account_organizations_by_name", "lower_login", "id", "visibility"
    ),
    _partial_index("ix_account_administrators", "admin", "id", on_sqlite="admin = 1"),
    _partial_index("ix_account_inactive", "NOT active", *BY_NAME, on_sqlite="active = 0"),
    _partial_index(
        "ix_account_login_prohibited", "login_prohibited", *BY_NAME, on_sqlite="login_prohibited = 1"
    ),
    _partial_index("ix_account_login_name", "login_name <> ''", "login_name", "lower_login", "id"),
    sqlite_autoincrement=True,
)


class AccountRow(TypedRow):
    id: int
    kind: AccountKind
    login: str
    lower_login: str
    full_name: str
    description: str
    website: str
    location: str
    visibility: AccountVisibility
    email: str
    email_private: bool
    password_hash: str
    admin: bool
    active: bool
    login_prohibited: bool
    may_create_organizations: bool
    must_change_password: bool
    login_name: str
    language: str
    theme: str
    diff_view_style: str
    hide_activity: bool
    repo_admin_change_team_access: bool
    avatar_digest: str
    last_login_at: datetime | None
    created_at: datetime
    updated_at: datetime


avatar = Table(
    "avatar",
    metadata,
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", String(64), nullable=False, index=True),
    Column("media_type", String(30), nullable=False),
    Column("content", LargeBinary, nullable=False),
)


class AvatarRow(TypedRow):
    digest: str
    media_type: str
    content: bytes


block = Table(
    "block",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    # A user or an organization.
    Column("blocker_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("blocked_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("note", String(255), nullable=False, default="", server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("blocker_id", "blocked_id"),
    sqlite_autoincrement=True,
)

former_name = Table(
    "former_name",
    metadata,
    Column("lower_login", String(40), primary_key=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("reserved_until", UtcDateTime, nullable=False),
)


class FormerNameRow(TypedRow):
    lower_login: str
    account_id: int
    reserved_until: datetime


email = Table(
    "email",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("address", String(254), nullable=False, unique=True),
    # The address in the letter case in which it was added; the same as ``address`` where it is null.
    Column("spelling", String(254)),
    Column("is_primary", Boolean, nullable=False, default=False),
    Column("verified", Boolean, nullable=False, default=True),
    sqlite_autoincrement=True,
)


class EmailRow(TypedRow):
    id: int
    account_id: int
    address: str
    spelling: str | None
    is_primary: bool
    verified: bool


access_token = Table(
    "access_token",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", String(255), nullable=False),
    Column("sha256", LargeBinary(32), nullable=False, unique=True),
    Column("last_eight", String(8), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    Column("expires_at", UtcDateTime),
    sqlite_autoincrement=True,
)


class TokenRow(TypedRow):
    id: int
    account_id: int
    name: str
    last_eight: str
    scopes: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


token_repository = Table(
    "token_repository",
    metadata,
    # What a token is restricted to; a token without rows is not restricted. A row outlives its repository: without it
    # the token would no longer be restricted.
    Column("token_id", ForeignKey("access_token.id", ondelete="CASCADE"), primary_key=True),
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
)

membership = Table(
    "membership",
    metadata,
    Column("organization_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("public", Boolean, nullable=False, default=False),
    # The name of the user, by which members are listed; triggers write it (migration 0018).
    Column("lower_login", String(40), nullable=False, default="", server_default=""),
    Index("ix_membership_members", *MEMBERS),
    _partial_index("ix_membership_public_members", "public", *MEMBERS, on_sqlite="public = 1"),
)

team = Table(
    "team",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("organization_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(30), nullable=False),
    Column("lower_name", String(30), nullable=False),
    Column("description", String(255), nullable=False, default=""),
    Column("permission", String(10), nullable=False),
    # Separated by commas; empty means all units.
    Column("units", String(255), nullable=False, default="", server_default=""),
    # Owners has both without saying so.
    Column("includes_all_repositories", Boolean, nullable=False, default=False, server_default=false()),
    Column("can_create_org_repo", Boolean, nullable=False, default=False, server_default=false()),
    UniqueConstraint("organization_id", "lower_name"),
    sqlite_autoincrement=True,
)


class TeamRow(TypedRow):
    id: int
    organization_id: int
    name: str
    lower_name: str
    description: str
    permission: TeamPermission
    units: str
    includes_all_repositories: bool
    can_create_org_repo: bool


team_member = Table(
    "team_member",
    metadata,
    Column("team_id", ForeignKey("team.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True),
)

follow = Table(
    "follow",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("follower_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("followed_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    UniqueConstraint("follower_id", "followed_id"),
    Index("ix_follow_followers", "followed_id", "id"),
    Index("ix_follow_following", "follower_id", "id"),
    sqlite_autoincrement=True,
)

action_variable = Table(
    "action_variable",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    # In capital letters.
    Column("name", String(255), nullable=False),
    Column("value", Text, nullable=False),
    Column("description", Text, nullable=False),
    UniqueConstraint("account_id", "name"),
    sqlite_autoincrement=True,
)


class ActionVariableRow(TypedRow):
    id: int
    account_id: int
    name: str
    value: str
    description: str


owned_repository = Table(
    "owned_repository",
    metadata,
    # A copy from repos. The owner may be an account that was just deleted.
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("owner_id", BigId, nullable=False, index=True),
    Column("name", String(100), nullable=False, default="", server_default=""),
    Column("lower_name", String(100), nullable=False, default="", server_default=""),
    Column("private", Boolean, nullable=False, default=True, server_default=true()),
)

repository_collaborator = Table(
    "repository_collaborator",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("user_id", BigId, primary_key=True, autoincrement=False),
)

repository_team = Table(
    "repository_team",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("team_id", BigId, primary_key=True, autoincrement=False),
)

tombstone = Table(
    "departed",
    metadata,
    # What restores an account when the event of a repository arrives that was created while the account was deleted.
    Column("account_id", BigId, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("login", String(40), nullable=False),
    Column("heir_id", BigId, nullable=False),
    Column("deleted_at", UtcDateTime, nullable=False),
)


class TombstoneRow(TypedRow):
    """Of a deleted account. ``fallback_owner_id`` (column ``heir_id``) is who deleted the organization."""

    account_id: int
    kind: AccountKind
    login: str
    fallback_owner_id: int


signing_key = Table(
    "signing_key",
    metadata,
    Column("kid", String(32), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("x", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("version", Integer, nullable=False, unique=True),
)


class SigningKeyRow(TypedRow):
    kid: str
    sealed: bytes
    x: str
    created_at: datetime
    version: int
