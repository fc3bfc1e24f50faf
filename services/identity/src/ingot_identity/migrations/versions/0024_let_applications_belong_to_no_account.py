"""let applications belong to no account

SQLite creates the table again. No foreign key is followed during a migration, so grants stay.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

KEEPS_IDS = {"sqlite_autoincrement": True}


def upgrade() -> None:
    with op.batch_alter_table("oauth2_application", schema=None, table_kwargs=KEEPS_IDS) as batch_op:
        batch_op.alter_column("account_id", existing_type=sa.INTEGER(), nullable=True)


def downgrade() -> None:
    op.execute("DELETE FROM oauth2_application WHERE account_id IS NULL")
    with op.batch_alter_table("oauth2_application", schema=None, table_kwargs=KEEPS_IDS) as batch_op:
        batch_op.alter_column("account_id", existing_type=sa.INTEGER(), nullable=False)
