"""The table of how each repository is looked after."""

from sqlalchemy import BigInteger, Column, ForeignKey, Table, Text

from ingot_chassis.db.tables import UtcDateTime
from ingot_repos.store.tables import metadata

upkeep = Table(
    "upkeep",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # The ref_version of the repository when its packs were last made.
    Column("packed_version", BigInteger, nullable=False, default=0),
    Column("packed_at", UtcDateTime),
    # When objects that no ref needs may be removed; NULL while there are none.
    Column("prune_at", UtcDateTime, index=True),
    Column("checked_at", UtcDateTime, index=True),
    # What git said of its objects; empty: they are sound.
    Column("damage", Text, nullable=False, default=""),
)
"""When each repository was packed and checked last."""
