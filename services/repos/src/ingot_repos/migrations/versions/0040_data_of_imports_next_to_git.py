"""data of imports next to git"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "import_source",
        sa.Column("repository_id", big, nullable=False),
        sa.Column("service", sa.String(length=10), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("map_logins", sa.Boolean(), nullable=False),
        sa.Column("fetched", sa.Boolean(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repository.id"],
            name=op.f("fk_import_source_repository_id_repository"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("repository_id", name=op.f("pk_import_source")),
    )


def downgrade() -> None:
    op.drop_table("import_source")
