"""Tables of repos.

``account`` is a copy of identity's accounts: the columns read here, fed by events, completed by asking.
``former_name`` is where a repository was before it was renamed or transferred, until another one takes the name.
``ref`` is the ledger: what each branch and tag pointed to when it was last announced. ``push`` is a journal:
a row is there from before refs move until the ledger has caught up. ``remote`` is where a migrated repository
came from, ``migration`` how far it is, ``mirror`` when it is brought up to date; what runs is a job.
"""

from sqlalchemy import (
    BigInteger,
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
    true,
)

from ingot_chassis.tables import NAMING, BigId, UtcDateTime, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)

account = Table(
    "account",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("login", String(40), nullable=False),
    # Not unique: renames of two accounts arrive in any order. Empty while another account holds the name.
    Column("lower_login", String(40), nullable=False, index=True),
    Column("full_name", String(100), nullable=False, default=""),
    Column("email", String(254), nullable=False, default="", index=True),
    Column("avatar_url", String(500), nullable=False, default=""),
    Column("visibility", String(10), nullable=False, default="public"),
    Column("active", Boolean, nullable=False, default=True),
)

repository = Table(
    "repository",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("owner_id", BigInteger, nullable=False),
    Column("name", String(100), nullable=False),
    Column("lower_name", String(100), nullable=False, index=True),
    Column("description", String(255), nullable=False, default=""),
    Column("website", String(255), nullable=False, default=""),
    Column("private", Boolean, nullable=False, default=False),
    Column("empty", Boolean, nullable=False, default=True),
    Column("archived", Boolean, nullable=False, default=False),
    Column("mirror", Boolean, nullable=False, default=False),
    Column("issues_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("pulls_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("releases_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("default_branch", String(255), nullable=False),
    # No foreign key: a fork outlives what it was forked from.
    Column("fork_of", BigInteger, index=True),
    Column("size", BigInteger, nullable=False, default=0),
    Column("stars_count", Integer, nullable=False, default=0),
    Column("forks_count", Integer, nullable=False, default=0),
    Column("watchers_count", Integer, nullable=False, default=0),
    Column("open_issues_count", Integer, nullable=False, default=0),
    # "forking" stands for all whose commits are on their way, also by a migration.
    Column("state", String(10), nullable=False, default="creating"),
    Column("shard", String(60), nullable=False),
    Column("ref_version", BigInteger, nullable=False, default=0),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("owner_id", "lower_name"),
    CheckConstraint("state IN ('creating', 'forking', 'ready', 'failed')", name="state"),
    # A path on disk follows from the id, so an id is never used twice.
    sqlite_autoincrement=True,
)

former_name = Table(
    "former_name",
    metadata,
    Column("owner_id", BigInteger, primary_key=True, autoincrement=False),
    Column("lower_name", String(100), primary_key=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False, index=True),
)

collaboration = Table(
    "collaboration",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", BigInteger, primary_key=True, index=True),
    Column("mode", String(10), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

team_grant = Table(
    "team_grant",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("team_id", BigInteger, primary_key=True, index=True),
)

deploy_key = Table(
    "deploy_key",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("title", String(255), nullable=False),
    Column("content", Text, nullable=False),
    Column("fingerprint", String(60), nullable=False),
    Column("read_only", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "fingerprint"),
    UniqueConstraint("repository_id", "title"),
    sqlite_autoincrement=True,
)

ref = Table(
    "ref",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(1100), primary_key=True),
    Column("oid", String(40), nullable=False),
)

push = Table(
    "push",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("user_id", BigInteger, nullable=False),
    Column("refs", Text, nullable=False),
    Column("merged_pull", BigInteger, nullable=False, default=0),
    Column("confined", Boolean, nullable=False, server_default=false()),
    Column("lease_until", UtcDateTime, nullable=False, index=True),
    Column("created_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

tombstone = Table(
    "tombstone",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("shard", String(60), nullable=False),
    Column("awaited", String(200), nullable=False),
    Column("deleted_at", UtcDateTime, nullable=False, index=True),
)
"""Deleted repositories whose files are there until the services that are awaited have forgotten them."""

merged_pull = Table(
    "merged_pull",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("sha", String(40), nullable=False),
)

commit_status = Table(
    "commit_status",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("sha", String(40), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("target_url", Text, nullable=False, default=""),
    Column("description", Text, nullable=False, default=""),
    Column("context", String(255), nullable=False),
    Column("creator_id", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "sha", "number"),
    sqlite_autoincrement=True,
)

release = Table(
    "release",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("tag_name", String(255), nullable=False),
    Column("lower_tag_name", String(255), nullable=False),
    Column("target_commitish", String(255), nullable=False, default=""),
    Column("name", String(255), nullable=False, default=""),
    Column("body", Text, nullable=False, default=""),
    Column("draft", Boolean, nullable=False),
    Column("prerelease", Boolean, nullable=False, default=False),
    Column("author_id", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("published_at", UtcDateTime),
    UniqueConstraint("repository_id", "lower_tag_name"),
    Index("ix_release_repository_id_created_at", "repository_id", "created_at"),
    sqlite_autoincrement=True,
)

star = Table(
    "star",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", BigInteger, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_star_user_id", "user_id"),
)

watch = Table(
    "watch",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", BigInteger, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_watch_user_id", "user_id"),
)

remote = Table(
    "remote",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("url", Text, nullable=False),
    # User name and password, sealed; taken away as soon as nothing will be fetched any more.
    Column("sealed", LargeBinary),
    Column("user_id", BigInteger, nullable=False),
)

migration = Table(
    "migration",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("state", String(10), nullable=False),
    Column("phase", String(20), nullable=False, default=""),
    Column("percent", Integer, nullable=False, default=0),
    Column("received", BigInteger, nullable=False, default=0),
    Column("reason", String(20), nullable=False, default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
)

mirror = Table(
    "mirror",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # 0: only when somebody asks.
    Column("interval_seconds", Integer, nullable=False),
    Column("next_run_at", UtcDateTime, index=True),
    Column("asked_at", UtcDateTime),
    Column("last_ok_at", UtcDateTime),
    Column("reason", String(20), nullable=False, default=""),
    Column("failures", Integer, nullable=False, default=0),
)
