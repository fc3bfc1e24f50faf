"""users of a reverse proxy"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "proxy_identity",
        sa.Column("proxy_user", sa.String(255), nullable=False),
        sa.Column("account_id", BigId, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_proxy_identity_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("proxy_user", name=op.f("pk_proxy_identity")),
        sa.UniqueConstraint("account_id", name=op.f("uq_proxy_identity_account_id")),
    )


def downgrade() -> None:
    op.drop_table("proxy_identity")
