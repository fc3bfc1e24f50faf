"""teams with all repositories"""

import sqlalchemy as sa
from alembic import op

revision = '0014'
down_revision = '0013'
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("includes_all_repositories", "can_create_org_repo"):
        op.add_column("team", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    for name in ("can_create_org_repo", "includes_all_repositories"):
        op.drop_column("team", name)
