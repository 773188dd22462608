"""`open_crawl`: the frontier of a crawl, for a command that works on it.

1. A crawl belongs to one storage. It is made with the identity of the one that it is first opened with, and from another, or from
   an empty one in its place, it is refused: else two projects that share a server would share a crawl, or a crawl would go
   on without its archive.
2. A storage that has the archive of a crawl which no frontier knows is refused as well: else all of it would be fetched again.
   `thresher frontier rebuild` makes the frontier from the archive.
3. Contact, delays, budgets and policy are the crawl's (`frontier.Settings`). A project that has others is refused, unless it says that they are to be replaced.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from core import CorruptData, InputError
from frontier import Frontier, StorageId, crawl_names
from frontier.link.link import Link
from frontier.link.lost_frontier import lost_frontier_error
from frontier.settings import check_storage
from pipeline.project import Project
from storage.archive.open_files import WARC, open_archive_files
from storage.crawllog.log_line import FOLDER as LOG
from storage.storage_id import ensure_storage_id, read_storage_id
from storage.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Every(Generic[T]):
    """What was asked of every crawl of a server."""

    answers: dict[str, T]
    """By crawl."""
    lost: dict[str, str]
    """Of the crawls whose frontier is lost, or cannot be read, the line that says so."""


async def ask_every(link: Link, question: Callable[[str, Frontier], Awaitable[T]]) -> Every[T]:
    """Ask the frontier of every crawl of a server. One that is lost does not keep the others from answering."""
    answers, lost = {}, {}
    for name in await crawl_names(link):
        frontier = Frontier(link, name)
        try:
            if not await frontier.crawl.exists():  # opened, it would be made anew
                raise lost_frontier_error(name)
            answers[name] = await question(name, await frontier.open())
        except CorruptData as error:
            lost[name] = str(error)
    return Every(answers=answers, lost=lost)


async def open_crawl(
    project: Project, link: Link, crawl: str, *, update: bool = False, rebuild: bool = False
) -> Frontier:
    """Return the frontier of a crawl, made if it is new. Raises `InputError` where the rules above refuse it.

    `update` replaces the crawl's settings by the project's; `rebuild` is for who makes the frontier from the archive.
    """
    frontier, store = Frontier(link, crawl), project.store
    if await frontier.crawl.exists():
        await frontier.open()
        check_storage(
            crawl, read_storage_id(store), store.uri, frontier.crawl.storage
        )  # before anything is put into it
        if frontier.rebuild.is_running and not rebuild:
            raise InputError(
                f"crawl {crawl!r}: its frontier is being made from the archive, or was when that was interrupted; wait, or run"
                f" `thresher frontier rebuild {crawl}` again"
            )
    elif not rebuild and has_archive(store, crawl):
        raise InputError(
            f"crawl {crawl!r}: the storage {store.uri} has its archive, but the frontier does not know it: all of it would"
            f" be fetched again; make the frontier from the archive with `thresher frontier rebuild {crawl}`, or name the"
            " crawl otherwise"
        )
    here = StorageId(id=ensure_storage_id(store), uri=store.uri)
    return await frontier.open(project.settings, storage=here, update=update)


async def find_crawl(project: Project, link: Link, crawl: str) -> Frontier:
    """Return the frontier of a crawl for who looks at it, or tells it something: whatever its settings are. Raises `InputError`
    where nothing is seeded, or its archive is in another storage.
    """
    if crawl not in await crawl_names(link):
        raise not_seeded_error(crawl)
    frontier = await Frontier(link, crawl).open()
    check_storage(crawl, read_storage_id(project.store), project.store.uri, frontier.crawl.storage)
    return frontier


async def open_seeded_crawl(project: Project, link: Link, crawl: str, *, update: bool = False) -> Frontier:
    """`open_crawl` for a crawl that must have been seeded."""
    if crawl not in await crawl_names(link) and not has_archive(project.store, crawl):
        raise not_seeded_error(crawl)
    return await open_crawl(project, link, crawl, update=update)


def not_seeded_error(crawl: str) -> InputError:
    """What is raised where nothing was ever added to a crawl."""
    return InputError(f"crawl {crawl!r}: nothing is seeded; run `thresher seed FILE --crawl {crawl}` first")


def has_archive(store: Store, crawl: str) -> bool:
    """Whether a storage has anything that a crawl of this name has fetched, or settled."""
    made = (
        store.list(f"{WARC}/{crawl}/{crawl}-"),
        store.list(f"{LOG}/{crawl}/{crawl}-"),
        open_archive_files(store, crawl),
    )
    return any(True for names in made for _ in names)
