"""Archive files, runs and costs; a part's version; the sums of a source."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables, and mark every Manifest as unread, because its version and files are needed."""
    op.add_column("sealedpart", sa.Column("version", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE sealedpart SET stamp = ''")
    op.add_column("source", sa.Column("files", sa.Integer(), nullable=False, server_default="0"))
    for name in ("bytes", "records", "responses"):
        op.add_column("source", sa.Column(name, COUNT, nullable=False, server_default="0"))
    op.create_table(
        "archivefile",
        sa.Column("manifest", NAME, primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("bytes", COUNT, nullable=False),
        sa.Column("records", COUNT, nullable=False),
        sa.Column("responses", COUNT, nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
    )
    op.create_index("ix_archivefile_source", "archivefile", ["source"])
    op.create_table(
        "run",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("stamp", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("version", COUNT, nullable=False),
        sa.Column("started_ms", COUNT, nullable=False),
        sa.Column("ended_ms", COUNT, nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
    )
    op.create_index("ix_run_step", "run", ["step"])
    op.create_index("ix_run_started_ms", "run", ["started_ms"])
    op.create_table(
        "cost",
        sa.Column("run", NAME, primary_key=True),
        *(sa.Column(name, sa.Float(), nullable=False) for name in ("cpu_s", "wall_s", "worker_s")),
        *(
            sa.Column(name, COUNT, nullable=False)
            for name in (
                "bytes_read",
                "bytes_written",
                "peak_rss",
                "made",
                "already",
                "redone",
                "quarantined",
            )
        ),
    )
    op.create_table("mirrored", sa.Column("storage", sa.String(), primary_key=True))
