"""former names and units"""

import sqlalchemy as sa
from alembic import op

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'former_name',
        sa.Column('owner_id', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('lower_name', sa.String(length=100), nullable=False),
        sa.Column('repository_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
        sa.ForeignKeyConstraint(
            ['repository_id'], ['repository.id'], name=op.f('fk_former_name_repository_id'), ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('owner_id', 'lower_name', name=op.f('pk_former_name')),
    )
    op.create_index(op.f('ix_former_name_repository_id'), 'former_name', ['repository_id'])
    for unit in ('issues', 'pulls', 'releases'):
        op.add_column(
            'repository',
            sa.Column(f'{unit}_enabled', sa.Boolean(), server_default=sa.true(), nullable=False),
        )


def downgrade() -> None:
    for unit in ('issues', 'pulls', 'releases'):
        op.drop_column('repository', f'{unit}_enabled')
    op.drop_table('former_name')
