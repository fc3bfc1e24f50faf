"""invitations"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId, UtcDateTime

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "invitation",
        sa.Column("id", BigId, autoincrement=True, nullable=False),
        sa.Column("team_id", BigId),
        sa.Column("repository_id", BigId),
        sa.Column("permission", sa.String(10), server_default="", nullable=False),
        sa.Column("inviter_id", BigId, nullable=False),
        sa.Column("address_digest", sa.LargeBinary(32), nullable=False),
        sa.Column("sealed_address", sa.LargeBinary(), nullable=False),
        sa.Column("registered", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["inviter_id"], ["account.id"], name=op.f("fk_invitation_inviter_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_invitation_team_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sqlite_autoincrement=True,
    )
    for column in ("expires_at", "inviter_id", "repository_id", "team_id"):
        op.create_index(op.f(f"ix_invitation_{column}"), "invitation", [column])


def downgrade() -> None:
    op.drop_table("invitation")
