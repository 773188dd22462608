"""The catalog: what is sealed and what it cost, in a database that answers quickly. It is only a cache.

1. `refresh` or `rebuild` copies everything in it from Manifests and runs in storage. The catalog alone knows nothing,
   and deleting it loses nothing.
2. Refreshes and rebuilds run one after another, each in one transaction: readers do not wait and see all of it or
   nothing, and a killed one has changed nothing.
3. An older catalog is migrated when it is opened. One that cannot be migrated is replaced by a new one. A newer one is
   refused.
4. What another program keeps in the same database is never touched.

`project_catalog` is the interface. `database_url` and the two databases, `sqlite` and `postgres`, say where the catalog
lies and how the two differ. `schema` brings the tables (`catalog_tables`) to today's shape with the migrations of
`storage.migrations`. `refresh` makes their rows agree with the storage, by the `rows` of each stored object.
"""

from thresher.storage.catalog.catalog_tables import ArchiveFile, Cost, Run, SealedPart, Source
from thresher.storage.catalog.project_catalog import Catalog
from thresher.storage.catalog.refresh import CatalogContents

__all__ = ["ArchiveFile", "Catalog", "CatalogContents", "Cost", "Run", "SealedPart", "Source"]
