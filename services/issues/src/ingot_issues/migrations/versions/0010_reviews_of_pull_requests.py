"""reviews of pull requests"""

import ingot_chassis.db.tables
import sqlalchemy as sa
from alembic import op

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('review',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('issue_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('author_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('body', sa.Text(), nullable=False),
    sa.Column('commit_sha', sa.String(length=64), nullable=False),
    sa.Column('official', sa.Boolean(), nullable=False),
    sa.Column('dismissed', sa.Boolean(), nullable=False),
    sa.Column('submitted_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.Column('updated_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['issue_id'], ['issue.id'], name=op.f('fk_review_issue_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_review')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('review', schema=None) as batch_op:
        batch_op.create_index('ix_review_of_issue', ['issue_id', 'id'], unique=False)

    op.create_table('review_comment',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('review_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('author_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('path', sa.Text(), nullable=False),
    sa.Column('old_position', sa.Integer(), nullable=False),
    sa.Column('new_position', sa.Integer(), nullable=False),
    sa.Column('body', sa.Text(), nullable=False),
    sa.Column('commit_sha', sa.String(length=64), nullable=False),
    sa.Column('diff_hunk', sa.Text(), nullable=False),
    sa.Column('created_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.Column('updated_at', ingot_chassis.db.tables.UtcDateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['review_id'], ['review.id'], name=op.f('fk_review_comment_review_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_review_comment')),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('review_comment', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_review_comment_review_id'), ['review_id'], unique=False)



def downgrade() -> None:
    with op.batch_alter_table('review_comment', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_review_comment_review_id'))

    op.drop_table('review_comment')
    with op.batch_alter_table('review', schema=None) as batch_op:
        batch_op.drop_index('ix_review_of_issue')

    op.drop_table('review')
