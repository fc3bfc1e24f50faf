"""licences, branches and the time of archiving

Revision ID: 0023
Revises: 0022

Branches are counted by the ledger; of archived repositories the last change is the nearest time that is known. Licences
are found by the next change of the default branch.
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
        batch_op.add_column(sa.Column("licenses", sa.Text(), server_default="[]", nullable=False))
        batch_op.add_column(sa.Column("branch_count", sa.Integer(), server_default="0", nullable=False))
    op.execute("UPDATE repository SET archived_at = updated_at WHERE archived")
    op.execute(
        "UPDATE repository SET branch_count = (SELECT count(*) FROM ref"
        " WHERE ref.repository_id = repository.id AND ref.name LIKE 'refs/heads/%')"
    )


def downgrade() -> None:
    with op.batch_alter_table("repository", schema=None) as batch_op:
        batch_op.drop_column("branch_count")
        batch_op.drop_column("licenses")
        batch_op.drop_column("archived_at")
