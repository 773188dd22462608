"""Sources and sealed parts, as they were before there were migrations."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "source",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
    )
    op.create_table(
        "sealedpart",
        sa.Column("manifest", NAME, primary_key=True),
        sa.Column("stamp", sa.String(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("bytes", COUNT, nullable=False),
        sa.Column("rows", COUNT, nullable=False),
    )
    op.create_index("ix_sealedpart_step", "sealedpart", ["step"])
    op.create_index("ix_sealedpart_source", "sealedpart", ["source"])
