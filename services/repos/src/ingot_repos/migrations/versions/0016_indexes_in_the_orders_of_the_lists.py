"""indexes in the orders of the lists"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_repository_of_owner": ["owner_id", "updated_at", "id"],
    "ix_repository_by_change": ["updated_at", "id"],
    "ix_repository_by_name": ["lower_name", "id"],
}


def upgrade() -> None:
    for name, columns in INDEXES.items():
        op.create_index(name, "repository", columns)


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "repository")
