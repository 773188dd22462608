"""`agree`: what a crawl was made with, by whoever was first, and what all others have to hold to.

1. The home of a crawl keeps its number of partitions, its version, its storage and its settings. Each is written once, by
   the first who says it.
2. Another version or another storage is refused, and so are other settings: nothing is changed by who is refused.
3. Settings are replaced as a whole, by compare and swap on their revision: of two who change them at once, one sees what the
   other has done.
4. Every partition has a copy of what its functions need of them (`copies`). A copy of an older revision never replaces a newer
   one, so any number of clients may tell the partitions, in any order, and one that was killed before it did is made up for
   by the next.
5. Whoever makes a crawl gives that making a name, which home and partitions keep. A partition that is of another making, or
   not there although all were made, is lost, and so is the crawl (`frontier.link.lost_frontier`): a server that was emptied, or another one at its
   address, is never taken for a crawl that has nothing to do.
"""

from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from core import CorruptData
from frontier.codec.entries import VERSION
from frontier.link.link import Call, Link
from frontier.link.lost_frontier import lost_frontier
from frontier.link.partition import Partitions, home
from frontier.settings import Settings, StorageId, check_settings, check_storage, decode, encode, merged


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What holds for every client of a crawl."""

    partitions: Partitions
    storage: StorageId | None
    """None where nobody has said it yet."""
    settings: Settings
    revision: int
    """Of the settings; 0 where nobody has said any, and the defaults hold."""
    rebuilding: bool = False
    """Whether it is being made from the archive, and is not complete."""
    making: bytes = b""
    """The name of its making."""
    begun: bool = False
    """Whether all of its partitions were made."""


async def agree(
    link: Link,
    crawl: str,
    *,
    partitions: int,
    storage: StorageId | None,
    settings: Settings | None,
    update: bool,
) -> Agreement:
    """Return what the crawl was made with, or make it so. What is None is asked for, and not said.

    Raises `CorruptData` where another release made the crawl, and `InputError` where its archive is in another storage,
    or its settings are others and `update` does not say that they are to be replaced.
    """
    found = await read_agreement(link, crawl)
    if found is not None:
        _check(crawl, found, storage, settings, update=update)
    said = (storage.id, storage.uri) if storage else ("", "")
    told = encode(settings) if settings else ""
    await link.call([home(crawl, "make", partitions, VERSION, *said, told, uuid4().hex)])
    while True:
        found = await read_agreement(link, crawl)
        if found is None:
            raise lost_frontier(crawl)
        _check(crawl, found, storage, settings, update=update)
        wanted = found.settings if settings is None else merged(settings, found.settings)
        if wanted == found.settings or await _changed(link, crawl, found.revision, wanted):
            revision = found.revision + (wanted != found.settings)
            found = replace(found, settings=wanted, revision=revision)
            await _begin(link, found)
            await link.call(copies(found))
            return found


async def read_agreement(link: Link, crawl: str) -> Agreement | None:
    """Return what a crawl was made with; None where there is no such crawl. Raise `CorruptData` as `agree` does."""
    (made,) = await link.call([home(crawl, "made")])
    partitions, version, identity, uri, revision, settings, rebuilding, making, begun = made
    if version is None:
        return None
    if int(version) != VERSION:
        raise CorruptData(
            f"crawl {crawl}: its frontier is of version {int(version)}, this release reads {VERSION};"
            " crawl it to its end with the release that made it, or choose another name"
        )
    return Agreement(
        partitions=Partitions(crawl, int(partitions)),
        storage=StorageId(id=identity.decode(), uri=uri.decode()) if identity else None,
        settings=decode(settings.decode()) if settings else Settings(),
        revision=int(revision or 0),
        rebuilding=bool(rebuilding),
        making=making,
        begun=bool(begun),
    )


def copies(found: Agreement) -> list[Call]:
    """Return the calls that give every partition its copy of the settings."""
    if not found.revision:
        return []
    settings, budget = found.settings, found.settings.budget
    limits = [-1 if limit is None else limit for limit in (budget.host, budget.domain, budget.hosts)]
    delays = settings.min_delay_ms, settings.min_ip_delay_ms
    return found.partitions.calls("configure", found.revision, *delays, *limits, str(settings.policy.traps))


async def is_torn(link: Link, found: Agreement) -> bool:
    """Return whether a partition of a crawl is lost, though all were made, or of another making than its home."""
    makings = await link.call(found.partitions.calls("begin", found.making, 0))
    return any(making != found.making and (making or found.begun) for making in makings)


async def _begin(link: Link, found: Agreement) -> None:
    """Make the partitions, unless they are; where the frontier is being made from the archive, those that are lost."""
    makes = 2 if found.rebuilding else int(not found.begun)
    makings = await link.call(found.partitions.calls("begin", found.making, makes))
    if any(making != found.making for making in makings):
        raise lost_frontier(found.partitions.crawl)
    if not found.begun:
        await link.call([home(found.partitions.crawl, "begun")])


def _check(
    crawl: str, found: Agreement, storage: StorageId | None, settings: Settings | None, *, update: bool
) -> None:
    """Raise `InputError` where the crawl is not as somebody says."""
    if storage is not None:
        check_storage(crawl, storage.id, storage.uri, found.storage)
    if not update:
        check_settings(crawl, settings, found.settings if found.revision else None)


async def _changed(link: Link, crawl: str, revision: int, settings: Settings) -> bool:
    (done,) = await link.call([home(crawl, "change", revision, encode(settings))])
    return bool(done)


def after_gate(crawl: str, news: Any, found: Agreement) -> tuple[Agreement, bool]:
    """Return the agreement as `gate` tells it, to who knows `found`; and whether anything may be leased."""
    version, shut, revision, settings, making = news
    if not version or making != found.making:
        raise lost_frontier(crawl)
    if revision == found.revision:
        return found, not shut
    read = decode(settings.decode()) if settings else Settings()
    return replace(found, settings=read, revision=revision), not shut
