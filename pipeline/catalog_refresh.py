"""The catalog command: what there is to do with a cache."""

from collections.abc import Iterator

from core import CorruptData, Unavailable
from pipeline.project import Project
from storage.catalog import Catalog, CatalogContents


def rebuild(project: Project) -> CatalogContents:
    """Make the project's catalog again from its storage alone; what it holds then."""
    return Catalog(project.config.project.catalog, project.directory).rebuild(project.store)


def faults(project: Project) -> Iterator[str]:
    """What the project's catalog says wrong, one line each; that it cannot be asked, where its database does not answer.

    A damaged Manifest, which no catalog can agree with, is for others to name.
    """
    try:
        for name in project.catalog.faults(project.store):
            yield f"the catalog does not say what {name} says; `thresher catalog rebuild` makes it again"
    except CorruptData:
        return
    except Unavailable as error:
        yield f"the catalog cannot be checked: {error}"
