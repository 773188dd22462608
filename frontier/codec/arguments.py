"""The arguments of the functions of `lua/`, made of values."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from thresher.core import Url
from thresher.frontier.codec.entries import encode_entry, entry_number
from thresher.frontier.lease import Discovery, HostRelease, Outcome, RestoredPage, Settlement
from thresher.frontier.link.call import Arg, Call
from thresher.frontier.link.partition import Partitions
from thresher.frontier.page_key import discovery_hash, page_hash
from thresher.frontier.policy import HostSwitch, UrlPolicy
from thresher.frontier.urls.revisit_interval import next_interval_s
from thresher.frontier.urls.scope import registered_domain

T = TypeVar("T")

_BATCH = 1_000  # URLs of one call, which occupies the server for some milliseconds
_UNANSWERED, _UNASKED = -1, -2  # in the place of a time


def add_calls(
    discoveries: Iterable[Discovery], partitions: Partitions, policy: UrlPolicy, *, revive: bool = False
) -> Iterator[Call]:
    """Yield calls of `add`, each with some of the discoveries, host by host."""
    arguments = partial(_addition, query_order=policy.query_order)
    for partition, args, _ in _by_host(discoveries, lambda found: found.url, partitions, arguments):
        yield partitions.call(partition, "add", int(revive), *args)


def restore_calls(
    restored: Iterable[RestoredPage], partitions: Partitions, policy: UrlPolicy
) -> Iterator[tuple[Call, list[RestoredPage]]]:
    """Yield calls of `restore`, each with some of the pages, host by host, and those pages."""
    arguments = partial(_restoration, query_order=policy.query_order)
    for partition, args, some in _by_host(restored, lambda each: each.discovery.url, partitions, arguments):
        yield partitions.call(partition, "restore", *args), some


def knows_calls(
    urls: Iterable[Url], partitions: Partitions, policy: UrlPolicy
) -> Iterator[tuple[Call, list[Url]]]:
    """Yield calls of `knows`, each about some of the URLs, host by host, and those URLs."""
    for partition, args, some in _by_host(
        urls, lambda url: url, partitions, lambda url: (page_hash(url, policy.query_order),)
    ):
        yield partitions.call(partition, "knows", *args), some


def _addition(found: Discovery, query_order: HostSwitch) -> tuple[Arg, ...]:
    name = discovery_hash(found, query_order)
    return name, encode_entry(found, entry_number(found, name))


def _restoration(restored: RestoredPage, query_order: HostSwitch) -> tuple[Arg, ...]:
    again = restored.next_visit
    entry = (
        b"" if again is None else encode_entry(again, entry_number(again, discovery_hash(again, query_order)))
    )
    due = max(restored.due_in_ms, 0)
    return discovery_hash(restored.discovery, query_order), restored.outcome, restored.reason, entry, due


def _by_host(
    items: Iterable[T],
    url: Callable[[T], Url],
    partitions: Partitions,
    arguments: Callable[[T], tuple[Arg, ...]],
) -> Iterator[tuple[int, list[Arg], list[T]]]:
    """Yield partition, arguments and items of one call after another, of about `_BATCH` items each."""
    hosts_by_partition: defaultdict[int, defaultdict[str, list[T]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        host = url(item).host
        hosts_by_partition[partitions.of_host(host)][host].append(item)
    for partition, hosts in hosts_by_partition.items():
        args: list[Arg] = []
        batch: list[T] = []
        for host, urls in hosts.items():
            for some in batches(urls, _BATCH):
                args += (host, registered_domain(host), len(some))
                for item in some:
                    args += arguments(item)
                batch += some
                if len(batch) >= _BATCH:
                    yield partition, args, batch
                    args, batch = [], []
        if batch:
            yield partition, args, batch


def release_arguments(ended: HostRelease) -> tuple[Arg, ...]:
    """Return the arguments of `release` for one request."""
    if not ended.has_sent_request:
        return ended.lease.token, _UNASKED
    return ended.lease.token, _UNANSWERED if ended.elapsed_ms is None else max(ended.elapsed_ms, 0)


def settle_arguments(settlement: Settlement, policy: UrlPolicy) -> tuple[Arg, ...]:
    """Return the arguments of `settle` for one lease."""
    wait = settlement.retry_after_ms
    return (
        settlement.lease.token,
        settlement.outcome,
        settlement.reason,
        -1 if wait is None else max(wait, 0),
        settlement.hold_ms,
        settlement.fault or "",
        int(settlement.has_sent_request),
        _novelty_argument(settlement, policy.traps),
        *_next_visit(settlement, policy.query_order),
    )


def batches(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Yield the items in their order, at most `most` at once."""
    return (items[first : first + most] for first in range(0, len(items), most))


def _next_visit(settlement: Settlement, query_order: HostSwitch) -> tuple[bytes, int]:
    """Return the entry of a page that is to be visited again, and the milliseconds until then; an empty entry if it is
    not.
    """
    lease = settlement.lease
    if not lease.interval_s or settlement.outcome not in {Outcome.FETCHED, Outcome.UNCHANGED}:
        return b"", 0
    interval_s = next_interval_s(lease.interval_s, changed=settlement.outcome is Outcome.FETCHED)
    again = replace(lease.discovery, interval_s=interval_s, state=settlement.next_state)
    return encode_entry(again, entry_number(again, discovery_hash(again, query_order))), interval_s * 1000


def _novelty_argument(settlement: Settlement, traps: HostSwitch) -> bytes:
    """Return what a page said, and whether it leads on (`frontier.urls.novelty`); empty if that is not known or has no
    use.
    """
    if settlement.sketch is None or not traps.is_on(settlement.lease.url.host):
        return b""
    return (settlement.sketch & 0xFFFF).to_bytes(2, "big") + bytes((bool(settlement.discoveries),))
