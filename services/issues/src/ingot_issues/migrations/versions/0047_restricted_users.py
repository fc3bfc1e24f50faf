"""restricted users, and pull requests by their heads"""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "account", sa.Column("granted_only", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.create_index("ix_pull_head_sha", "pull", ["head_sha"])
    condition = sa.text("head_tip <> ''")
    op.create_index(
        "ix_pull_head_tip", "pull", ["head_tip"], postgresql_where=condition, sqlite_where=condition
    )


def downgrade() -> None:
    op.drop_index("ix_pull_head_tip", "pull")
    op.drop_index("ix_pull_head_sha", "pull")
    op.drop_column("account", "granted_only")
