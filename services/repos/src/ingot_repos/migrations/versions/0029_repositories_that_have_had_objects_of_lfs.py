"""repositories that have had objects of lfs"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # As requests lock them; the next revision, in the same transaction, locks both as well.
        op.execute("LOCK TABLE account, repository IN SHARE ROW EXCLUSIVE MODE")
    op.create_table(
        "lfs_user",
        sa.Column("repository_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repository.id"],
            name=op.f("fk_lfs_user_repository_id_repository"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("repository_id", name=op.f("pk_lfs_user")),
    )
    op.execute("INSERT INTO lfs_user (repository_id) SELECT DISTINCT repository_id FROM lfs_link")


def downgrade() -> None:
    op.drop_table("lfs_user")
