"""Tables of sources, of their links with accounts, and of teams and rights from their groups."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    true,
)

from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_identity.accounts.store.tables import metadata

LOCAL = 0
"""The id of this server as a source, which has no row."""


class SourceKind(StrEnum):
    """Kinds of sources that have a row."""

    OIDC = "oidc"
    LDAP = "ldap"


auth_source = Table(
    "auth_source",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("kind", String(12), nullable=False),
    # A part of addresses, in lower case.
    Column("name", String(40), nullable=False, unique=True),
    Column("title", String(100), nullable=False),
    Column("enabled", Boolean, nullable=False, default=True, server_default=true()),
    # The settings of the service declare it, so the API cannot change it.
    Column("from_settings", Boolean, nullable=False, default=False, server_default=false()),
    # JSON of the kind (`rules/configs.py`).
    Column("config", Text, nullable=False),
    Column("sealed_secret", LargeBinary),
    Column("icon", LargeBinary),
    Column("icon_type", String(40), nullable=False, default="", server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    **LASTING_IDS,
)


class SourceRow(TypedRow):
    id: int
    kind: SourceKind
    name: str
    title: str
    enabled: bool
    from_settings: bool
    config: str
    sealed_secret: bytes | None
    icon: bytes | None
    icon_type: str
    created_at: datetime
    updated_at: datetime


external_identity = Table(
    "external_identity",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("source_id", ForeignKey("auth_source.id", ondelete="CASCADE"), nullable=False),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    # The id of the person at the source, which never changes: ``sub`` of OpenID Connect, ``entryUUID``.
    Column("subject", String(255), nullable=False),
    # As the source calls the person: shown, and searched for in a directory.
    Column("login_name", String(255), nullable=False, default="", server_default=""),
    Column("email", String(254), nullable=False, default="", server_default=""),
    # What a group of the source gave to the account, and takes back.
    Column("gave_admin", Boolean, nullable=False, default=False, server_default=false()),
    Column("gave_restricted", Boolean, nullable=False, default=False, server_default=false()),
    # The source manages the account by SCIM, so its owner cannot unlink it.
    Column("managed", Boolean, nullable=False, default=False, server_default=false()),
    # The source deactivated the account, and may activate it again.
    Column("deactivated", Boolean, nullable=False, default=False, server_default=false()),
    # The digest of the picture that the source gave last.
    Column("avatar_digest", String(64), nullable=False, default="", server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_sign_in_at", UtcDateTime),
    UniqueConstraint("source_id", "subject"),
    UniqueConstraint("account_id", "source_id"),
    **LASTING_IDS,
)


class IdentityRow(TypedRow):
    id: int
    source_id: int
    account_id: int
    subject: str
    login_name: str
    email: str
    gave_admin: bool
    gave_restricted: bool
    managed: bool
    deactivated: bool
    avatar_digest: str
    created_at: datetime
    last_sign_in_at: datetime | None


mapped_member = Table(
    "mapped_member",
    metadata,
    Column("team_id", ForeignKey("team.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("source_id", ForeignKey("auth_source.id", ondelete="CASCADE"), primary_key=True),
    Index("ix_mapped_member_user_id", "user_id", "source_id"),
)
"""Members of teams by the groups of a source. They also have a row in ``team_member``."""
