"""SSH keys and pictures of directories"""

import sqlalchemy as sa
from alembic import op

from ingot_chassis.db.tables import LASTING_IDS, BigId

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_sqlite = op.get_context().dialect.name == "sqlite"
    # SQLite copies the table, and would give the ids of deleted keys to new ones.
    last_id = _last_id() if is_sqlite else None
    with op.batch_alter_table("ssh_key", table_kwargs=LASTING_IDS) as batch_op:
        batch_op.add_column(sa.Column("identity_id", BigId))
        batch_op.create_foreign_key(
            op.f("fk_ssh_key_identity_id"), "external_identity", ["identity_id"], ["id"], ondelete="CASCADE"
        )
    if last_id is not None:
        op.execute("DELETE FROM sqlite_sequence WHERE name = 'ssh_key'")
        op.execute(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('ssh_key', {last_id:d})")
    op.create_index(op.f("ix_ssh_key_identity_id"), "ssh_key", ["identity_id"])
    op.add_column(
        "external_identity", sa.Column("avatar_digest", sa.String(64), server_default="", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("external_identity", "avatar_digest")
    op.drop_index("ix_ssh_key_identity_id", "ssh_key")
    with op.batch_alter_table("ssh_key", table_kwargs=LASTING_IDS) as batch_op:
        batch_op.drop_constraint("fk_ssh_key_identity_id", type_="foreignkey")
        batch_op.drop_column("identity_id")


def _last_id() -> int | None:
    statement = sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'ssh_key'")
    value: int | None = op.get_bind().execute(statement).scalar()
    return value
