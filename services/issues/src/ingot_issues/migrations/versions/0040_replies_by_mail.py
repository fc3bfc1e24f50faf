"""replies by mail"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reply_by_mail",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column(
            "issue_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("comment_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["issue_id"], ["issue.id"], name=op.f("fk_reply_by_mail_issue_id_issue"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_reply_by_mail")),
    )
    op.create_index(op.f("ix_reply_by_mail_issue_id"), "reply_by_mail", ["issue_id"], unique=False)


def downgrade() -> None:
    op.drop_table("reply_by_mail")
