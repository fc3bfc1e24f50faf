"""repeated imports of organizations"""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "organization_import", sa.Column("repeat", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "organization_import_repository",
        sa.Column("due", sa.Boolean(), server_default=sa.false(), nullable=False),
    )


def downgrade() -> None:
    op.drop_column("organization_import_repository", "due")
    op.drop_column("organization_import", "repeat")
