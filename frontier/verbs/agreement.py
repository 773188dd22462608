"""`agree`: the settings and storage that the first client gave a crawl, and that all others must hold to.

1. The home of a crawl keeps its number of partitions, its version, its storage and its settings. Each is written once,
   by the first client that sets it.
2. Another version or another storage is refused, and so are other settings. A client that is refused changes nothing.
3. Settings are replaced as a whole, by compare and swap on their revision: of two clients that change them at once, one
   sees the change of the other.
4. Every partition has a copy of the settings that its functions need (`settings_calls`). A copy of an older revision
   never replaces a newer one. So any number of clients may configure the partitions, in any order, and the next client
   makes up for one that was killed before it did.
5. The client that makes a crawl gives this creation an id, which home and partitions keep. A partition with another
   creation id, or one that is missing although all were made, is lost, and so is the crawl
   (`frontier.link.lost_frontier`): a server that was emptied, or another server at its address, never passes for a
   crawl that has nothing to do.
"""

from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from thresher.core import CorruptData
from thresher.frontier.codec.entries import VERSION
from thresher.frontier.crawl_settings import (
    CrawlSettings,
    StorageId,
    check_settings,
    check_storage,
    decode_settings,
    encode_settings,
    merge_settings,
)
from thresher.frontier.link.call import Call, Link
from thresher.frontier.link.lost_frontier import lost_frontier_error
from thresher.frontier.link.partition import Partitions, crawl_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The values that hold for every client of a crawl."""

    partitions: Partitions
    storage: StorageId | None
    """None if no client has set it yet."""
    settings: CrawlSettings
    revision: int
    """Revision of the settings; 0 if no client has set any, and the defaults hold."""
    is_rebuilding: bool = False
    """Whether the frontier is being made from the archive and is not complete."""
    creation_id: bytes = b""
    """The id of the crawl's creation."""
    has_all_partitions: bool = False
    """Whether all partitions were made."""


async def agree(
    link: Link,
    crawl: str,
    *,
    partitions: int,
    storage: StorageId | None,
    settings: CrawlSettings | None,
    update: bool,
) -> Agreement:
    """Return the agreement of the crawl, and make the crawl if it is new. A `storage` or `settings` of None accepts
    that of the crawl.

    Raise `CorruptData` if another release made the crawl, and `InputError` if its archive is in another storage, or if
    its settings differ and `update` does not ask to replace them.
    """
    found = await read_agreement(link, crawl)
    if found is not None:
        _check(crawl, found, storage, settings, update=update)
    storage_id = (storage.id, storage.uri) if storage else ("", "")
    encoded_settings = encode_settings(settings) if settings else ""
    await link.call(
        [crawl_call(crawl, "make", partitions, VERSION, *storage_id, encoded_settings, uuid4().hex)]
    )
    while True:
        found = await read_agreement(link, crawl)
        if found is None:
            raise lost_frontier_error(crawl)
        _check(crawl, found, storage, settings, update=update)
        new_settings = found.settings if settings is None else merge_settings(settings, found.settings)
        if new_settings == found.settings or await _replace_settings(
            link, crawl, found.revision, new_settings
        ):
            revision = found.revision + (new_settings != found.settings)
            found = replace(found, settings=new_settings, revision=revision)
            await _create_partitions(link, found)
            await link.call(settings_calls(found))
            return found


async def read_agreement(link: Link, crawl: str) -> Agreement | None:
    """Return the agreement of a crawl; None if there is no such crawl. Raise `CorruptData` as `agree` does."""
    (reply,) = await link.call([crawl_call(crawl, "made")])
    partitions, version, identity, uri, revision, settings, rebuilding, creation_id, has_all = reply
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
        settings=decode_settings(settings.decode()) if settings else CrawlSettings(),
        revision=int(revision or 0),
        is_rebuilding=bool(rebuilding),
        creation_id=creation_id,
        has_all_partitions=bool(has_all),
    )


def settings_calls(found: Agreement) -> list[Call]:
    """Return the calls that give every partition its copy of the settings."""
    if not found.revision:
        return []
    settings, budget = found.settings, found.settings.budget
    limits = [-1 if limit is None else limit for limit in (budget.host, budget.domain, budget.hosts)]
    delays = settings.min_delay_ms, settings.min_ip_delay_ms
    return found.partitions.calls("configure", found.revision, *delays, *limits, str(settings.policy.traps))


async def has_lost_partition(link: Link, found: Agreement) -> bool:
    """Return whether a partition of a crawl is missing although all were made, or has another creation id than the
    home.
    """
    ids = await link.call(found.partitions.calls("begin", found.creation_id, 0))
    return any(each != found.creation_id and (each or found.has_all_partitions) for each in ids)


async def _create_partitions(link: Link, found: Agreement) -> None:
    """Make the partitions that were never made; during a rebuild, also those that are lost."""
    makes = 2 if found.is_rebuilding else int(not found.has_all_partitions)
    ids = await link.call(found.partitions.calls("begin", found.creation_id, makes))
    if any(each != found.creation_id for each in ids):
        raise lost_frontier_error(found.partitions.crawl)
    if not found.has_all_partitions:
        await link.call([crawl_call(found.partitions.crawl, "begun")])


def _check(
    crawl: str, found: Agreement, storage: StorageId | None, settings: CrawlSettings | None, *, update: bool
) -> None:
    """Raise `InputError` if the crawl's storage or settings differ from the caller's."""
    if storage is not None:
        check_storage(crawl, storage.id, storage.uri, found.storage)
    if not update:
        check_settings(crawl, settings, found.settings if found.revision else None)


async def _replace_settings(link: Link, crawl: str, revision: int, settings: CrawlSettings) -> bool:
    (done,) = await link.call([crawl_call(crawl, "change", revision, encode_settings(settings))])
    return bool(done)


def read_gate_reply(crawl: str, reply: Any, found: Agreement) -> tuple[Agreement, bool]:
    """Return the agreement after a reply of `gate` to a client that has `found`, and whether anything may be leased."""
    version, shut, revision, settings, creation_id = reply
    if not version or creation_id != found.creation_id:
        raise lost_frontier_error(crawl)
    if revision == found.revision:
        return found, not shut
    read = decode_settings(settings.decode()) if settings else CrawlSettings()
    return replace(found, settings=read, revision=revision), not shut
