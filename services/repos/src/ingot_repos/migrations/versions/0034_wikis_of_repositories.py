"""wikis of repositories.

Before, ``has_wiki`` was a setting without effect. Where a client has switched it off, it stays off.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

IS_OFF = '%"has_wiki":false%'


def upgrade() -> None:
    enabled = sa.Column("wiki_enabled", sa.Boolean(), server_default=sa.true(), nullable=False)
    op.add_column("repository", enabled)
    op.add_column("repository", sa.Column("wiki_of", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_repository_wiki_of"), "repository", ["wiki_of"], unique=True)
    repository = sa.table("repository", sa.column("wiki_enabled", sa.Boolean), sa.column("inert_settings"))
    is_off = repository.c.inert_settings.like(IS_OFF)
    op.execute(repository.update().where(is_off).values(wiki_enabled=sa.false()))


def downgrade() -> None:
    op.drop_index(op.f("ix_repository_wiki_of"), table_name="repository")
    op.drop_column("repository", "wiki_of")
    op.drop_column("repository", "wiki_enabled")
