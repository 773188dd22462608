"""Alembic runs this module: it migrates within the transaction that the catalog has begun."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
)
context.run_migrations()
