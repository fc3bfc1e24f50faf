"""Tables that nearly all subjects read.

``account`` has copies of identity's accounts, with the columns that repos reads. Events update the copies. A
missing copy is fetched on request. ``former_name`` has the former names of repositories until other
repositories take them. ``ref`` is the ledger: each branch and tag with the commit that was last announced.

``collaboration`` and ``team_grant`` belong to access, ``transfer`` to repositories, and ``ref`` to pushes.
These subjects write them. The tables are here because every list of repositories reads them. Other tables are
in the store of their subject.
"""

from sqlalchemy import (
    BigInteger,
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
    UniqueConstraint,
    false,
    true,
)

from ingot_chassis.db.audit import audit_table
from ingot_chassis.db.tables import LASTING_IDS, NAMING, BigId, UtcDateTime, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
audit_table(metadata)

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
    Column("profile", Text),  # see ``profile_fields``; null: not fetched yet
    Column("hide_activity", Boolean),  # null: not fetched yet, and hidden until then
    # A restricted user, who reads nothing because it is public.
    Column("granted_only", Boolean, nullable=False, default=False, server_default=false()),
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
    # The address that it was imported from, of http or https; empty otherwise.
    Column("source_url", Text, nullable=False, default="", server_default=""),
    Column("avatar_digest", String(64), nullable=False, default="", server_default=""),
    Column("private", Boolean, nullable=False, default=False),
    Column("empty", Boolean, nullable=False, default=True),
    Column("archived", Boolean, nullable=False, default=False),
    Column("archived_at", UtcDateTime),
    Column("mirror", Boolean, nullable=False, default=False),
    Column("issues_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("pulls_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("releases_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("wiki_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("template", Boolean, nullable=False, default=False, server_default=false()),
    Column("allow_merge_commits", Boolean, nullable=False, default=True, server_default=true()),
    Column("allow_rebase", Boolean, nullable=False, default=True, server_default=true()),
    Column("allow_rebase_explicit", Boolean, nullable=False, default=True, server_default=true()),
    Column("allow_squash_merge", Boolean, nullable=False, default=True, server_default=true()),
    Column("allow_fast_forward_only_merge", Boolean, nullable=False, default=True, server_default=true()),
    Column("allow_merge_update", Boolean, nullable=False, default=True, server_default=true()),
    Column("allow_rebase_update", Boolean, nullable=False, default=True, server_default=true()),
    Column("default_merge_style", String(20), nullable=False, default="merge", server_default="merge"),
    Column(
        "default_delete_branch_after_merge", Boolean, nullable=False, default=False, server_default=false()
    ),
    # A JSON object: settings of things that Ingot has not, as clients sent them.
    Column("inert_settings", Text, nullable=False, default="{}", server_default="{}"),
    # A JSON list of names.
    Column("topics", Text, nullable=False, default="[]", server_default="[]"),
    Column("language", String(60), nullable=False, default="", server_default=""),
    # A JSON list of SPDX keys; null: not read yet.
    Column("licenses", Text, default="[]"),
    Column("branch_count", Integer, default=0),  # null in older rows, see repository_columns
    Column("default_branch", String(255), nullable=False),
    # No foreign key: a fork outlives its parent.
    Column("fork_of", BigInteger, index=True),
    # The row is the wiki of this repository (ADR 34), see `wikis`. It has no account as its owner.
    Column("wiki_of", BigInteger, index=True, unique=True),
    Column("size", BigInteger, nullable=False, default=0),
    Column("stars_count", Integer, nullable=False, default=0),
    Column("forks_count", Integer, nullable=False, default=0),
    Column("watchers_count", Integer, nullable=False, default=0),
    Column("open_issues_count", Integer, nullable=False, default=0),
    Column("open_pulls_count", Integer, nullable=False, default=0, server_default="0"),
    Column("releases_count", Integer, nullable=False, default=0, server_default="0"),
    # "forking": the commits are being copied, by a fork or an import.
    Column("state", String(10), nullable=False, default="creating"),
    Column("shard", String(60), nullable=False, index=True),
    # Until then its files do not change, because they move to another shard.
    Column("locked_until", UtcDateTime),
    Column("ref_version", BigInteger, nullable=False, default=0),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("owner_id", "lower_name"),
    CheckConstraint("state IN ('creating', 'forking', 'ready', 'failed')", name="state"),
    # In the orders of the lists: the first page is found without reading the other rows.
    Index("ix_repository_of_owner", "owner_id", "updated_at", "id"),
    Index("ix_repository_by_change", "updated_at", "id"),
    Index("ix_repository_by_name", "lower_name", "id"),
    # A path on disk follows from the id, so an id is never used twice.
    **LASTING_IDS,
)


transfer = Table(
    "transfer",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("sender_id", BigInteger, nullable=False),
    Column("recipient_id", BigInteger, nullable=False, index=True),
    Column("team_ids", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
"""Transfers that the new owner has neither accepted nor rejected yet."""

reparent = Table(
    "reparent",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("parent_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("sender_id", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
"""Requests for a new parent that wait for an answer."""

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


ref = Table(
    "ref",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(1100), primary_key=True),
    Column("oid", String(40), nullable=False),
)
