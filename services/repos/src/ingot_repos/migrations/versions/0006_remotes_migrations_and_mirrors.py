"""remotes migrations and mirrors"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('migration',
    sa.Column('repository_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('state', sa.String(length=10), nullable=False),
    sa.Column('phase', sa.String(length=20), nullable=False),
    sa.Column('percent', sa.Integer(), nullable=False),
    sa.Column('received', sa.BigInteger(), nullable=False),
    sa.Column('reason', sa.String(length=20), nullable=False),
    sa.Column('created_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.Column('finished_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True),
    sa.CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name=op.f('ck_migration_state')),
    sa.ForeignKeyConstraint(['repository_id'], ['repository.id'], name=op.f('fk_migration_repository_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('repository_id', name=op.f('pk_migration'))
    )
    op.create_table('mirror',
    sa.Column('repository_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('interval_seconds', sa.Integer(), nullable=False),
    sa.Column('next_run_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True),
    sa.Column('asked_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True),
    sa.Column('last_ok_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=True),
    sa.Column('reason', sa.String(length=20), nullable=False),
    sa.Column('failures', sa.Integer(), nullable=False),
    sa.ForeignKeyConstraint(['repository_id'], ['repository.id'], name=op.f('fk_mirror_repository_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('repository_id', name=op.f('pk_mirror'))
    )
    op.create_index(op.f('ix_mirror_next_run_at'), 'mirror', ['next_run_at'], unique=False)

    op.create_table('remote',
    sa.Column('repository_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('url', sa.Text(), nullable=False),
    sa.Column('sealed', sa.LargeBinary(), nullable=True),
    sa.Column('user_id', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['repository_id'], ['repository.id'], name=op.f('fk_remote_repository_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('repository_id', name=op.f('pk_remote'))
    )


def downgrade() -> None:
    op.drop_table('remote')
    op.drop_table('mirror')
    op.drop_table('migration')
