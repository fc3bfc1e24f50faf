"""Tables of identity.

Users and organizations share one table, hence one sequence of ids and one set of names.
"""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    true,
)

from ingot_chassis.tables import NAMING, BigId, UtcDateTime, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)

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
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    CheckConstraint("kind IN ('user', 'organization')", name="kind"),
    sqlite_autoincrement=True,
)

email = Table(
    "email",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("address", String(254), nullable=False, unique=True),
    Column("is_primary", Boolean, nullable=False, default=False),
    Column("verified", Boolean, nullable=False, default=True),
    sqlite_autoincrement=True,
)

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

token_repository = Table(
    "token_repository",
    metadata,
    # What a token is restricted to; one without rows is not. A row outlives its repository, lest the token widen.
    Column("token_id", ForeignKey("access_token.id", ondelete="CASCADE"), primary_key=True),
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
)

membership = Table(
    "membership",
    metadata,
    Column("organization_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("public", Boolean, nullable=False, default=False),
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
    # By comma; empty means all of them.
    Column("units", String(255), nullable=False, default="", server_default=""),
    UniqueConstraint("organization_id", "lower_name"),
    sqlite_autoincrement=True,
)

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
    Column("followed_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    UniqueConstraint("follower_id", "followed_id"),
    sqlite_autoincrement=True,
)

ssh_key = Table(
    "ssh_key",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("title", String(255), nullable=False),
    Column("content", Text, nullable=False),
    # Made of the key alone, so the same key with another comment is still the same.
    Column("fingerprint", String(64), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("account_id", "title"),
    sqlite_autoincrement=True,
)

gpg_key = Table(
    "gpg_key",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    # Of a subkey; empty for a primary key.
    Column("primary_key_id", String(16), nullable=False, index=True),
    Column("key_id", String(16), nullable=False, unique=True),
    Column("content", Text, nullable=False),
    # Addresses that the key names, by blanks; which of them are its owner's is seen when it is shown.
    Column("addresses", Text, nullable=False),
    Column("can_sign", Boolean, nullable=False),
    Column("can_encrypt_comms", Boolean, nullable=False),
    Column("can_encrypt_storage", Boolean, nullable=False),
    Column("can_certify", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    sqlite_autoincrement=True,
)

owned_repository = Table(
    "owned_repository",
    metadata,
    # A copy from the events of repos: who is named as the owner, even of somebody just deleted, and how it is called.
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

departed = Table(
    "departed",
    metadata,
    # What brings an account back when a repository turns up that was created while it was deleted.
    Column("account_id", BigId, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("login", String(40), nullable=False),
    Column("heir_id", BigId, nullable=False),
    Column("deleted_at", UtcDateTime, nullable=False),
)

signing_key = Table(
    "signing_key",
    metadata,
    Column("kid", String(32), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("x", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("version", Integer, nullable=False, unique=True),
)
