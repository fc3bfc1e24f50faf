"""tables of people of imports"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("import_source", sa.Column("people", sa.Text(), server_default="{}", nullable=False))


def downgrade() -> None:
    op.drop_column("import_source", "people")
