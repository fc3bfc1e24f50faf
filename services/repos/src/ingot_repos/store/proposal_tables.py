"""The table of what pushes propose."""

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table, UniqueConstraint

from ingot_chassis.db.tables import BigId
from ingot_repos.store.tables import metadata

proposal = Table(
    "proposal",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("account_id", BigInteger, nullable=False),
    Column("base_branch", String(255), nullable=False),
    Column("topic", String(200), nullable=False),
    # The pull request that issues opened last, and its head when issues last compared it; 0 and 40 zeros before, and
    # an empty text as long as nothing was announced.
    Column("number", BigInteger, nullable=False, default=0),
    Column("compared_sha", String(40), nullable=False, default=""),
    UniqueConstraint("repository_id", "account_id", "base_branch", "topic"),
    sqlite_autoincrement=True,
)
"""What somebody pushes to ``refs/for/``. The commits are at ``refs/scratch/proposals/<id>``."""
