"""`open_crawl`: the frontier of a crawl, for a command that works on it.

1. A crawl belongs to one storage. It gets the identity of the storage that it is first opened with. From another
   storage, or from an empty one in its place, it is refused: otherwise two projects that share a server would share a
   crawl, or a crawl would continue without its archive.
2. If a storage has the archive of a crawl that no frontier knows, the crawl is refused as well: otherwise all of it
   would be fetched again. `thresher frontier rebuild` makes the frontier from the archive.
3. Contact, delays, budgets and policy belong to the crawl (`frontier.crawl_settings`). A project with others is
   refused, unless it asks to replace them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from thresher.core import CorruptData, InputError
from thresher.frontier import Frontier, StorageId, crawl_names
from thresher.frontier.crawl_settings import check_storage
from thresher.frontier.link.call import Link
from thresher.frontier.link.lost_frontier import lost_frontier_error
from thresher.pipeline.open_project import OpenProject
from thresher.storage.archive.open_files import WARC, open_archive_files
from thresher.storage.crawllog.log_line import FOLDER as LOG
from thresher.storage.storage_id import ensure_storage_id, read_storage_id
from thresher.storage.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Every(Generic[T]):
    """The responses of every crawl of a server."""

    answers: dict[str, T]
    """Responses by name of the crawl."""
    lost: dict[str, str]
    """By name of the crawl, the error line if its frontier is lost or cannot be read."""


async def ask_every(link: Link, question: Callable[[str, Frontier], Awaitable[T]]) -> Every[T]:
    """Ask the frontier of every crawl of a server. A lost frontier does not stop the others."""
    answers, lost = {}, {}
    for name in await crawl_names(link):
        frontier = Frontier(link, name)
        try:
            if not await frontier.crawl.exists():  # `open` would make a new one
                raise lost_frontier_error(name)
            answers[name] = await question(name, await frontier.open())
        except CorruptData as error:
            lost[name] = str(error)
    return Every(answers=answers, lost=lost)


def ask_project(project: OpenProject, question: Callable[[str, Frontier], Awaitable[T]]) -> Every[T]:
    """Ask the frontier of every crawl of the project's server. Raise `Unavailable` if the server does not answer.

    An embedded server that was never used knows no crawl. It is not started.
    """
    if not project.may_have_crawls:
        return Every(answers={}, lost={})
    from thresher.frontier.link.connect import connect  # noqa: PLC0415 - redis takes as long to import as a short answer

    async def ask(address: str) -> Every[T]:
        link = await connect(address)
        try:
            return await ask_every(link, question)
        finally:
            await link.aclose()

    with project.frontier_address() as address:
        return asyncio.run(ask(address))


async def open_crawl(
    project: OpenProject, link: Link, crawl: str, *, update: bool = False, rebuild: bool = False
) -> Frontier:
    """Return the frontier of a crawl, made if it is new. Raise `InputError` if a rule of this module refuses it.

    `update` replaces the crawl's settings with those of the project. `rebuild` is for the caller that makes the
    frontier from the archive.
    """
    frontier, store = Frontier(link, crawl), project.store
    if await frontier.crawl.exists():
        await frontier.open()
        # Before anything is put into it.
        check_storage(crawl, read_storage_id(store), store.uri, frontier.crawl.storage)
        if frontier.rebuild.is_running and not rebuild:
            raise InputError(
                f"crawl {crawl!r}: a rebuild of its frontier from the archive is under way or was interrupted; wait, or"
                f" run `thresher frontier rebuild {crawl}` again"
            )
    elif not rebuild and has_archive(store, crawl):
        raise InputError(
            f"crawl {crawl!r}: the storage {store.uri} has its archive, but the frontier does not know it: all of it"
            " would be fetched again; make the frontier from the archive with"
            f" `thresher frontier rebuild {crawl}`, or use another name for the crawl"
        )
    storage = StorageId(id=ensure_storage_id(store), uri=store.uri)
    return await frontier.open(project.settings, storage=storage, update=update)


async def find_crawl(project: OpenProject, link: Link, crawl: str) -> Frontier:
    """Return the frontier of a crawl to look at it or to give it orders, whatever its settings are.

    Raise `InputError` if nothing is seeded, or if its archive is in another storage.
    """
    if crawl not in await crawl_names(link):
        raise not_seeded_error(crawl)
    frontier = await Frontier(link, crawl).open()
    check_storage(crawl, read_storage_id(project.store), project.store.uri, frontier.crawl.storage)
    return frontier


async def open_seeded_crawl(
    project: OpenProject, link: Link, crawl: str, *, update: bool = False
) -> Frontier:
    """Do the same as `open_crawl`, but raise `InputError` if the crawl was never seeded."""
    if crawl not in await crawl_names(link) and not has_archive(project.store, crawl):
        raise not_seeded_error(crawl)
    return await open_crawl(project, link, crawl, update=update)


def not_seeded_error(crawl: str) -> InputError:
    """Return the error for a crawl to which nothing was ever added."""
    return InputError(f"crawl {crawl!r}: nothing is seeded; run `thresher seed FILE --crawl {crawl}` first")


def has_archive(store: Store, crawl: str) -> bool:
    """Return whether a storage holds anything that a crawl of this name has fetched or settled."""
    listings = (
        store.list(f"{WARC}/{crawl}/{crawl}-"),
        store.list(f"{LOG}/{crawl}/{crawl}-"),
        open_archive_files(store, crawl),
    )
    return any(True for names in listings for _ in names)
