"""fetch objects of LFS from remotes

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("remote", schema=None) as batch_op:
        batch_op.add_column(sa.Column("lfs_url", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("lfs_reason", sa.String(length=20), server_default="", nullable=False))
        batch_op.add_column(sa.Column("lfs_absent", sa.Text(), server_default="", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("remote", schema=None) as batch_op:
        batch_op.drop_column("lfs_absent")
        batch_op.drop_column("lfs_reason")
        batch_op.drop_column("lfs_url")
