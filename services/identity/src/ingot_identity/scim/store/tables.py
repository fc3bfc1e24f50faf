"""Tables of SCIM: the users and groups of a source, and the tokens of its clients."""

from datetime import datetime

from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, String, Table, UniqueConstraint

from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_identity.accounts.store.tables import metadata

scim_token = Table(
    "scim_token",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("source_id", ForeignKey("auth_source.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", String(255), nullable=False),
    Column("sha256", LargeBinary(32), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    **LASTING_IDS,
)


class ScimTokenRow(TypedRow):
    id: int
    source_id: int
    name: str
    created_at: datetime
    last_used_at: datetime | None


scim_user = Table(
    "scim_user",
    metadata,
    # The link of the account with the source, whose ``subject`` is the external id.
    Column(
        "identity_id",
        ForeignKey("external_identity.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("source_id", ForeignKey("auth_source.id", ondelete="CASCADE"), nullable=False),
    # As the client writes them. The account follows when they change.
    Column("user_name", String(255), nullable=False),
    Column("lower_user_name", String(255), nullable=False),
    Column("email", String(254), nullable=False),
    Column("lower_email", String(254), nullable=False),
    Column("first_name", String(255), nullable=False),
    Column("family_name", String(255), nullable=False),
    Column("display_name", String(255), nullable=False),
    Column("version", Integer, nullable=False, default=1, server_default="1"),
    # The groups changed since they were applied to teams while the two differ, or the source changed.
    Column("groups_version", Integer, nullable=False, default=1, server_default="1"),
    Column("applied_version", Integer, nullable=False, default=0, server_default="0"),
    Column("applied_source_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("source_id", "lower_user_name"),
)
"""The accounts that SCIM clients manage."""


class ScimUserRow(TypedRow):
    """A user of a source, with its link and the state of its account."""

    identity_id: int
    source_id: int
    account_id: int
    external_id: str
    login: str
    active: bool
    user_name: str
    email: str
    first_name: str
    family_name: str
    display_name: str
    version: int
    created_at: datetime
    updated_at: datetime


scim_group = Table(
    "scim_group",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("source_id", ForeignKey("auth_source.id", ondelete="CASCADE"), nullable=False),
    Column("display_name", String(255), nullable=False),
    Column("lower_display_name", String(255), nullable=False),
    Column("external_id", String(255), nullable=False),
    Column("version", Integer, nullable=False, default=1, server_default="1"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("source_id", "lower_display_name"),
    **LASTING_IDS,
)


class ScimGroupRow(TypedRow):
    id: int
    source_id: int
    display_name: str
    external_id: str
    version: int
    created_at: datetime
    updated_at: datetime


scim_member = Table(
    "scim_member",
    metadata,
    Column("group_id", ForeignKey("scim_group.id", ondelete="CASCADE"), primary_key=True),
    Column(
        "identity_id",
        ForeignKey("scim_user.identity_id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    ),
)


class ScimMemberRow(TypedRow):
    group_id: int
    identity_id: int
    user_name: str
