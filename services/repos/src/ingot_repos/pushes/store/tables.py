"""Tables of pull requests that pushes merge or propose, and of push mirrors.

The subject `mirrors` writes ``push_mirror``. The table is here because each push reads the mirrors of its
repository.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_repos.catalog.store.tables import metadata

merged_pull = Table(
    "merged_pull",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("sha", String(40), nullable=False),
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
    # 0: only requested pushes.
    Column("interval_seconds", Integer, nullable=False),
    Column("sync_on_commit", Boolean, nullable=False),
    Column("asked_at", UtcDateTime),
    Column("last_at", UtcDateTime),
    Column("reason", String(20), nullable=False, default=""),
    Column("failures", Integer, nullable=False, default=0),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "name"),
    **LASTING_IDS,
)
"""Remotes to which a repository is pushed; the runs are jobs."""

proposal = Table(
    "proposal",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("account_id", BigInteger, nullable=False),
    Column("base_branch", String(255), nullable=False),
    Column("topic", String(200), nullable=False),
    # The pull request that issues opened last, and its head when issues last compared it. Before that they
    # are 0 and 40 zeros. The head is empty until the proposal is announced.
    Column("number", BigInteger, nullable=False, default=0),
    Column("compared_sha", String(40), nullable=False, default=""),
    UniqueConstraint("repository_id", "account_id", "base_branch", "topic"),
    **LASTING_IDS,
)
"""Proposals, which are pushes to ``refs/for/``. Their commits are at ``refs/scratch/proposals/<id>``."""
