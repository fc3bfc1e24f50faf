"""Tables of hooks, and enumerations of their columns."""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

from ingot_chassis.db.audit import audit_table
from ingot_chassis.db.tables import (
    LASTING_IDS,
    NAMING,
    BigId,
    UtcDateTime,
    chassis_tables,
    partial_index,
)

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
audit_table(metadata)


class HookType(StrEnum):
    """The kind of receiver of a hook. It decides the format of deliveries."""

    GITEA = "gitea"
    GOGS = "gogs"
    SLACK = "slack"
    DISCORD = "discord"
    DINGTALK = "dingtalk"
    TELEGRAM = "telegram"
    MSTEAMS = "msteams"
    FEISHU = "feishu"
    MATRIX = "matrix"


class ContentType(StrEnum):
    """The encoding of the JSON text of a delivery."""

    JSON = "json"
    FORM = "form"


SYSTEM, DEFAULT = 0, -1
"""Values of ``organization_id`` for hooks of the server; no account has such an id.

``SYSTEM`` hooks get the events of every repository. Every new repository gets a copy of the ``DEFAULT`` ones.
"""

AWAITS_PERMISSION_CHECK = "doubted_at IS NOT NULL"

hook = Table(
    "hook",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigInteger, index=True),
    # The account whose repositories it is for, an organization or a user; or SYSTEM or DEFAULT.
    Column("organization_id", BigInteger, index=True),
    Column("name", String(255), nullable=False, default="", server_default=""),
    Column("type", String(20), nullable=False),
    Column("url", Text, nullable=False),
    Column("endpoint", String(300), nullable=False),
    Column("content_type", String(4), nullable=False),
    Column("settings", Text, nullable=False),
    Column("sealed_secret", LargeBinary),
    Column("sealed_former_secret", LargeBinary),
    Column("former_until", UtcDateTime),
    Column("sealed_authorization", LargeBinary),
    Column("events", Text, nullable=False),
    Column("branch_filter", String(255), nullable=False),
    Column("active", Boolean, nullable=False),
    # The responsible user: the last one who created the hook, changed its URL or activated it.
    Column("creator_id", BigInteger, nullable=False, index=True),
    # Since when the permission of that user awaits a check, because an event may have changed it.
    Column("doubted_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("failing_since", UtcDateTime),
    Column("disabled_reason", Text, nullable=False, default=""),
    CheckConstraint("(repository_id IS NULL) <> (organization_id IS NULL)", name="one_owner"),
    partial_index("ix_hook_doubted", AWAITS_PERMISSION_CHECK, "doubted_at"),
    **LASTING_IDS,
)

sequence = Table(
    "sequence",
    metadata,
    Column("hook_id", BigInteger, primary_key=True),
    Column("repository_id", BigInteger, primary_key=True),
    Column("last", BigInteger, nullable=False),
)
