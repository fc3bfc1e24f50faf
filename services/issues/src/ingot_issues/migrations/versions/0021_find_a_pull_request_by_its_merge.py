"""find a pull request by its merge"""

from alembic import op

revision = '0021'
down_revision = '0020'
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table('pull', schema=None) as batch_op:
        batch_op.create_index('ix_pull_merge', ['merge_sha'], unique=False)


def downgrade() -> None:
    with op.batch_alter_table('pull', schema=None) as batch_op:
        batch_op.drop_index('ix_pull_merge')
