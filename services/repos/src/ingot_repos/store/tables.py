"""Tables of repos.

``account`` is a copy of identity's accounts, with the columns that repos reads. Events fill it, and requests for an
account that has no copy. ``former_name`` has the names that a repository had, until another repository takes one.
``ref`` is the ledger: where each branch and tag pointed when it was last announced. ``push`` is a journal: a row is
there from before refs move until the ledger is up to date. ``remote`` is where an imported repository comes from,
``migration`` the progress of its import, ``mirror`` its schedule and last sync; the runs are jobs.
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

from ingot_chassis.db.audit import audit_table
from ingot_chassis.db.tables import NAMING, BigId, UtcDateTime, chassis_tables

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
    Column("archived_at", UtcDateTime),
    Column("mirror", Boolean, nullable=False, default=False),
    Column("issues_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("pulls_enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("releases_enabled", Boolean, nullable=False, default=True, server_default=true()),
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
    # In the orders of the lists, so that the first page is found without a look at the others.
    Index("ix_repository_of_owner", "owner_id", "updated_at", "id"),
    Index("ix_repository_by_change", "updated_at", "id"),
    Index("ix_repository_by_name", "lower_name", "id"),
    # A path on disk follows from the id, so an id is never used twice.
    sqlite_autoincrement=True,
)

branch_protection = Table(
    "branch_protection",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    # A name of a branch, or a pattern.
    Column("rule_name", String(255), nullable=False),
    Column("priority", Integer, nullable=False),
    # A JSON object: what the rule demands, and whom it lets pass.
    Column("rule", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "rule_name"),
    sqlite_autoincrement=True,
)

tag_protection = Table(
    "tag_protection",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name_pattern", String(255), nullable=False),
    # JSON lists of ids: who may create, move and delete the tags.
    Column("user_ids", Text, nullable=False),
    Column("team_ids", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
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
    Index("deploy_key_fingerprint", "fingerprint"),
    sqlite_autoincrement=True,
)

ssh_host_key = Table(
    "ssh_host_key",
    metadata,
    Column("algorithm", String(40), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
"""The private keys of the SSH server, one of each algorithm, shared by all of its replicas."""

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
    Column("options", Text, nullable=False, server_default="[]"),
    Column("moves_refs", Boolean, nullable=False, server_default=true()),
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
"""Deleted repositories. Their files stay until the ``awaited`` services have confirmed the deletion."""

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
    # With what a list leaves out, so that it looks at the releases of its page alone.
    Index("ix_release_listed", "repository_id", "created_at", "id", "draft", "prerelease"),
    sqlite_autoincrement=True,
)

release_asset = Table(
    "release_asset",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("release_id", ForeignKey("release.id", ondelete="CASCADE"), nullable=False),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", String(255), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("download_count", BigInteger, nullable=False, server_default="0"),
    Column("uploader_id", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # Not unique: a release may have several files of one name.
    Index("ix_release_asset_release_id_name", "release_id", "name"),
    sqlite_autoincrement=True,
)

topic = Table(
    "topic",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("name", String(35), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

repository_topic = Table(
    "repository_topic",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("topic_id", ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True, index=True),
)

remote = Table(
    "remote",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("url", Text, nullable=False),
    # User name and password, sealed; NULL as soon as nothing will be fetched any more.
    Column("sealed", LargeBinary),
    Column("user_id", BigInteger, nullable=False),
    # Where its objects of LFS are fetched from; NULL: they are not.
    Column("lfs_url", Text),
    # Why some of them were not fetched the last time, and which the remote lacks.
    Column("lfs_reason", String(20), nullable=False, default="", server_default=""),
    Column("lfs_absent", Text, nullable=False, default="", server_default=""),
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
    # 0: no sync but those that somebody asks for.
    Column("interval_seconds", Integer, nullable=False),
    Column("next_run_at", UtcDateTime, index=True),
    Column("asked_at", UtcDateTime),
    Column("last_ok_at", UtcDateTime),
    Column("reason", String(20), nullable=False, default=""),
    Column("failures", Integer, nullable=False, default=0),
)

push_mirror = Table(
    "push_mirror",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(40), nullable=False),
    Column("url", Text, nullable=False),
    # User name and password, sealed.
    Column("sealed", LargeBinary),
    # Who added it: it pushes as long as they may administer the repository.
    Column("user_id", BigInteger, nullable=False),
    # 0: no pushes but those that somebody asks for.
    Column("interval_seconds", Integer, nullable=False),
    Column("sync_on_commit", Boolean, nullable=False),
    Column("asked_at", UtcDateTime),
    Column("last_at", UtcDateTime),
    Column("reason", String(20), nullable=False, default=""),
    Column("failures", Integer, nullable=False, default=0),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "name"),
    sqlite_autoincrement=True,
)
"""Remotes to which a repository is pushed; the runs are jobs."""
