"""progress of imports"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("import_source", sa.Column("reading_since", sa.DateTime(timezone=True)))
    op.add_column(
        "import_source", sa.Column("done_before", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "import_source", sa.Column("last_reason", sa.String(length=20), server_default="", nullable=False)
    )
    op.add_column("import_source", sa.Column("paused_until", sa.DateTime(timezone=True)))


def downgrade() -> None:
    for name in ("paused_until", "last_reason", "done_before", "reading_since"):
        op.drop_column("import_source", name)
