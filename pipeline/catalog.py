"""The catalog command: what there is to do with a cache."""

from pipeline.project import Project
from storage.catalog import Catalog, Contents


def rebuild(project: Project) -> Contents:
    """Make the project's catalog again from its storage alone; what it holds then."""
    return Catalog(project.config.project.catalog, project.directory).rebuild(project.store)
