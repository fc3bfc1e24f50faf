"""restricted users"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("account", sa.Column("restricted", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(
        "ix_account_restricted",
        "account",
        ["lower_login", "id"],
        postgresql_where=sa.text("restricted"),
        sqlite_where=sa.text("restricted = 1"),
    )
    op.add_column(
        "external_identity",
        sa.Column("gave_restricted", sa.Boolean(), server_default=sa.false(), nullable=False),
    )


def downgrade() -> None:
    op.drop_column("external_identity", "gave_restricted")
    op.drop_index("ix_account_restricted", "account")
    op.drop_column("account", "restricted")
