"""host keys of the SSH server"""

import sqlalchemy as sa
from alembic import op

import ingot_chassis.db.tables

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ssh_host_key",
        sa.Column("algorithm", sa.String(length=40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("algorithm", name=op.f("pk_ssh_host_key")),
    )
    op.create_index("deploy_key_fingerprint", "deploy_key", ["fingerprint"])


def downgrade() -> None:
    op.drop_index("deploy_key_fingerprint", "deploy_key")
    op.drop_table("ssh_host_key")
