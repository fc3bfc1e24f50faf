"""passkeys of registrations"""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("registration", sa.Column("credential_id", sa.LargeBinary(1023)))
    op.add_column("registration", sa.Column("public_key", sa.LargeBinary(1024)))
    op.add_column("registration", sa.Column("user_handle", sa.LargeBinary(64)))
    op.add_column("registration", sa.Column("sign_count", sa.BigInteger()))
    op.add_column("registration", sa.Column("recovery_codes", sa.LargeBinary(1024)))


def downgrade() -> None:
    for name in ("recovery_codes", "sign_count", "user_handle", "public_key", "credential_id"):
        op.drop_column("registration", name)
