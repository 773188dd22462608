"""Rebuild the catalog, and compare it with the storage."""

from collections.abc import Iterator

from thresher.core import CorruptData, Unavailable
from thresher.pipeline.open_project import OpenProject
from thresher.storage.catalog import Catalog, CatalogContents


def rebuild(project: OpenProject) -> CatalogContents:
    """Make the project's catalog again from its storage alone, and return what it holds then."""
    return Catalog(project.config.project.catalog, project.directory).rebuild(project.store)


def faults(project: OpenProject) -> Iterator[str]:
    """Yield a line for each difference between the catalog and the storage, or one if the database does not respond.

    A damaged Manifest gives no line, because no catalog can agree with it; `verify` names it elsewhere.
    """
    try:
        for name in project.catalog.faults(project.store):
            yield f"the catalog disagrees with {name}; `thresher catalog rebuild` makes it again"
    except CorruptData:
        return
    except Unavailable as error:
        yield f"the catalog cannot be checked: {error}"
