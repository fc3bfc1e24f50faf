"""forget enrolments that nobody confirmed

Until now a session could begin one without the password, and whoever did that could still turn it on. To begin again costs
their owners a minute.
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DELETE FROM two_factor WHERE confirmed_at IS NULL")


def downgrade() -> None:
    pass
