"""objects of LFS that no commit needs

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op

import ingot_chassis.db.tables

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("lfs_link", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("unneeded_since", ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True)
        )


def downgrade() -> None:
    with op.batch_alter_table("lfs_link", schema=None) as batch_op:
        batch_op.drop_column("unneeded_since")
