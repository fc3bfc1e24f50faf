"""avatars of repositories"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "avatar",
        sa.Column("repository_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("media_type", sa.String(length=30), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repository.id"],
            name=op.f("fk_avatar_repository_id_repository"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("repository_id", name=op.f("pk_avatar")),
    )
    with op.batch_alter_table("repository", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("avatar_digest", sa.String(length=64), server_default="", nullable=False)
        )


def downgrade() -> None:
    with op.batch_alter_table("repository", schema=None) as batch_op:
        batch_op.drop_column("avatar_digest")
    op.drop_table("avatar")
