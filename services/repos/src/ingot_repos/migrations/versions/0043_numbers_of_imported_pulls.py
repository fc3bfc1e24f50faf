"""numbers of imported pull requests"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("import_source", sa.Column("pull_offset", sa.Integer()))


def downgrade() -> None:
    op.drop_column("import_source", "pull_offset")
