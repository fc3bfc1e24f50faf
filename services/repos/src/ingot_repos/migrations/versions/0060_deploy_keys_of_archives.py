"""deploy keys of archives"""

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("import_source", sa.Column("deploy_keys", sa.Text(), server_default="[]", nullable=False))


def downgrade() -> None:
    op.drop_column("import_source", "deploy_keys")
