"""reactions stopwatches dependencies pins and subscriptions"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('dependency',
    sa.Column('issue_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('blocker_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.ForeignKeyConstraint(['blocker_id'], ['issue.id'], name=op.f('fk_dependency_blocker_id'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['issue_id'], ['issue.id'], name=op.f('fk_dependency_issue_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('issue_id', 'blocker_id', name=op.f('pk_dependency'))
    )
    with op.batch_alter_table('dependency', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_dependency_blocker_id'), ['blocker_id'], unique=False)

    op.create_table('issue_subscription',
    sa.Column('issue_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('account_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('subscribed', sa.Boolean(), nullable=False),
    sa.Column('created_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['issue_id'], ['issue.id'], name=op.f('fk_issue_subscription_issue_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('issue_id', 'account_id', name=op.f('pk_issue_subscription'))
    )
    op.create_table('stopwatch',
    sa.Column('account_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('issue_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('created_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['issue_id'], ['issue.id'], name=op.f('fk_stopwatch_issue_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('account_id', 'issue_id', name=op.f('pk_stopwatch'))
    )
    with op.batch_alter_table('stopwatch', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_stopwatch_issue_id'), ['issue_id'], unique=False)

    op.create_table('reaction',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('issue_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('comment_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('account_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('content', sa.String(length=20), nullable=False),
    sa.Column('created_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['comment_id'], ['comment.id'], name=op.f('fk_reaction_comment_id'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['issue_id'], ['issue.id'], name=op.f('fk_reaction_issue_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_reaction')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('reaction', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_reaction_comment_id'), ['comment_id'], unique=False)
        batch_op.create_index('ix_reaction_listed', ['issue_id', 'comment_id', 'id'], unique=False)

    with op.batch_alter_table('issue', schema=None) as batch_op:
        batch_op.add_column(sa.Column('pin_order', sa.Integer(), server_default='0', nullable=False))



def downgrade() -> None:
    with op.batch_alter_table('issue', schema=None) as batch_op:
        batch_op.drop_column('pin_order')

    with op.batch_alter_table('reaction', schema=None) as batch_op:
        batch_op.drop_index('ix_reaction_listed')
        batch_op.drop_index(batch_op.f('ix_reaction_comment_id'))

    op.drop_table('reaction')
    with op.batch_alter_table('stopwatch', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_stopwatch_issue_id'))

    op.drop_table('stopwatch')
    op.drop_table('issue_subscription')
    with op.batch_alter_table('dependency', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_dependency_blocker_id'))

    op.drop_table('dependency')
