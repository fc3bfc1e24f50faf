"""creators of deploy keys"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("deploy_key", sa.Column("creator_id", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_deploy_key_creator_id"), "deploy_key", ["creator_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_deploy_key_creator_id"), "deploy_key")
    op.drop_column("deploy_key", "creator_id")
