"""repeated imports"""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("import_cursor", sa.Column("repeat", sa.Integer(), server_default="0", nullable=False))
    op.add_column("import_cursor", sa.Column("conflicts", sa.Text(), server_default="[]", nullable=False))
    op.add_column("imported_object", sa.Column("base", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("imported_object", "base")
    op.drop_column("import_cursor", "conflicts")
    op.drop_column("import_cursor", "repeat")
