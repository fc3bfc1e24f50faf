"""licences, branches and the time of archiving

Revision ID: 0023
Revises: 0022

The table is locked meanwhile, so its rows are filled later, by a periodic task (`catalog/store/columns.py`). Licences are
found by the next change of the default branch.
"""

import sqlalchemy as sa
from alembic import op

import ingot_chassis.db.tables

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("repository", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("archived_at", ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True)
        )
        batch_op.add_column(sa.Column("licenses", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("branch_count", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("repository", schema=None) as batch_op:
        batch_op.drop_column("branch_count")
        batch_op.drop_column("licenses")
        batch_op.drop_column("archived_at")
