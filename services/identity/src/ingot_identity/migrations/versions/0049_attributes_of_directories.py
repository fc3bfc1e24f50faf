"""SSH keys and pictures of directories"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import BigId

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("ssh_key", sa.Column("identity_id", BigId))
    op.create_index(op.f("ix_ssh_key_identity_id"), "ssh_key", ["identity_id"])
    op.add_column(
        "external_identity", sa.Column("avatar_digest", sa.String(64), server_default="", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("external_identity", "avatar_digest")
    op.drop_index("ix_ssh_key_identity_id", "ssh_key")
    op.drop_column("ssh_key", "identity_id")
