"""badges of users"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "badge",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("slug", sa.String(length=40), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_badge")),
        sa.UniqueConstraint("slug", name=op.f("uq_badge_slug")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "user_badge",
        sa.Column("account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("badge_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_user_badge_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["badge_id"], ["badge.id"], name=op.f("fk_user_badge_badge_id_badge"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "badge_id", name=op.f("pk_user_badge")),
    )
    op.create_index(op.f("ix_user_badge_badge_id"), "user_badge", ["badge_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_user_badge_badge_id"), table_name="user_badge")
    op.drop_table("user_badge")
    op.drop_table("badge")
