"""sources of repositories"""

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("repository", sa.Column("source_url", sa.Text(), server_default="", nullable=False))
    op.execute(
        """
        UPDATE repository SET source_url =
            (SELECT remote.url FROM remote WHERE remote.repository_id = repository.id)
        WHERE repository.id IN (
            SELECT remote.repository_id FROM remote
            JOIN migration ON migration.repository_id = remote.repository_id
            WHERE remote.url LIKE 'http://%' OR remote.url LIKE 'https://%'
        )
        """
    )


def downgrade() -> None:
    op.drop_column("repository", "source_url")
