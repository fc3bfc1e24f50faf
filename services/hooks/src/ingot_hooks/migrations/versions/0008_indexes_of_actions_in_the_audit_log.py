"""indexes of actions in the audit log

Nobody writes the table while an index of it is made, each in a transaction of its own. One that was made before (`CREATE INDEX
CONCURRENTLY`, under the same name) stays.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_audit_entry_action": ["action", "id"],
    "ix_audit_entry_actor_action": ["actor", "action", "id"],
}


def upgrade() -> None:
    for name, columns in INDEXES.items():
        if op.get_bind().dialect.name == "postgresql":
            op.get_bind().commit()
        op.create_index(name, "audit_entry", columns, if_not_exists=True)


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "audit_entry")
