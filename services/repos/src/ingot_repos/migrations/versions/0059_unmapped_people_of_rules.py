"""unmapped people of rules"""

import sqlalchemy as sa
from alembic import op

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "import_source", sa.Column("unmapped_rules", sa.Text(), server_default="[]", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("import_source", "unmapped_rules")
