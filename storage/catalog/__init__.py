"""The catalog: what is sealed and what it cost, in a database that answers quickly. It is only a cache.

1. Everything in it is copied from Manifests and runs in storage, by `refresh` or `rebuild`; nothing is known
   by the catalog alone, and deleting it loses nothing.
2. Refreshes and rebuilds follow one another, in one transaction each: readers are not kept waiting and see
   all of it or nothing, and a killed one has done nothing.
3. An older catalog is migrated when it is opened, one that cannot be is begun anew, a newer one is refused.
4. What another program keeps in the same database is never touched.

`catalog` is the face. `address` and the two databases, `sqlite` and `postgres`, say where it lies and how
they differ; `schema` brings the tables (`tables`) to today's shape with the migrations of `storage.migrations`;
`refresh` makes their rows agree with the storage.
"""

from storage.catalog.catalog import Catalog
from storage.catalog.catalog_tables import ArchiveFile, Cost, Run, SealedPart, Source
from storage.catalog.refresh import CatalogContents

__all__ = ["ArchiveFile", "Catalog", "CatalogContents", "Cost", "Run", "SealedPart", "Source"]
