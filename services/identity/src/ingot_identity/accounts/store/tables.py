"""Tables of identity, and the types of their rows.

Users and organizations are in one table, so they never share an id or a name.
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
    MetaData,
    String,
    Table,
    Text,
    false,
    true,
)

from ingot_chassis.db.audit import audit_table
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import (
    LASTING_IDS,
    NAMING,
    BigId,
    UtcDateTime,
    chassis_tables,
    partial_index,
)
from ingot_contracts.web import Density, TabWidth

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
audit_table(metadata)


class AccountKind(StrEnum):
    USER = "user"
    ORGANIZATION = "organization"


class AccountVisibility(StrEnum):
    """Visibility of an organization. ``LIMITED``: for all signed-in users, ``PRIVATE``: for members."""

    PUBLIC = "public"
    LIMITED = "limited"
    PRIVATE = "private"


BY_NAME = ("lower_login", "id")


def _index_of(kind: AccountKind, name: str, *columns: str) -> Index:
    """Return an index of only users, or of only organizations."""
    return partial_index(name, f"kind = '{kind}'", *columns)


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
    # Reads only what it owns or was given. Without effect for an administrator (`is_granted_only`).
    Column("restricted", Boolean, nullable=False, default=False, server_default=false()),
    Column("may_create_organizations", Boolean, nullable=False, default=True, server_default=true()),
    # For clients that send and read it; nothing asks for it. It ends when the person changes the password.
    Column("must_change_password", Boolean, nullable=False, default=False, server_default=false()),
    # The source of the account, 0 for this server; and its id of the person (`sources`).
    Column("source_id", BigId, nullable=False, default=0, server_default="0"),
    Column("login_name", String(255), nullable=False, default="", server_default=""),
    Column("language", String(35), nullable=False, default="", server_default=""),
    Column("theme", String(255), nullable=False, default="", server_default=""),
    Column("density", String(20), nullable=False, default="comfortable", server_default="comfortable"),
    Column("tab_width", Integer, nullable=False, default=4, server_default="4"),
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
    partial_index("ix_account_administrators", "admin", "id", on_sqlite="admin = 1"),
    partial_index("ix_account_inactive", "NOT active", *BY_NAME, on_sqlite="active = 0"),
    partial_index(
        "ix_account_login_prohibited", "login_prohibited", *BY_NAME, on_sqlite="login_prohibited = 1"
    ),
    partial_index("ix_account_restricted", "restricted", *BY_NAME, on_sqlite="restricted = 1"),
    partial_index("ix_account_source", "source_id <> 0", "source_id", "lower_login", "id"),
    partial_index("ix_account_login_name", "login_name <> ''", "login_name", "lower_login", "id"),
    **LASTING_IDS,
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
    restricted: bool
    may_create_organizations: bool
    must_change_password: bool
    source_id: int
    login_name: str
    language: str
    theme: str
    density: Density
    tab_width: TabWidth
    diff_view_style: str
    hide_activity: bool
    repo_admin_change_team_access: bool
    avatar_digest: str
    last_login_at: datetime | None
    created_at: datetime
    updated_at: datetime


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
