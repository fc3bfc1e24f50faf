"""claims of addresses"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "email_claim",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("account_id", BigId, nullable=False),
        sa.Column("address", sa.String(254), nullable=False),
        sa.Column("spelling", sa.String(254), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_email_claim_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_email_claim")),
        sa.UniqueConstraint("account_id", "address", name=op.f("uq_email_claim_account_id_address")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("email_claim")
