"""What must hold when a run is over, whatever befell it (docs/decisions/0037-simulator.md). Each returns what is broken.

| promise | says |
|---|---|
| settled is readable | a page that a worker settled by an answer has its record in a sealed file, and so has what that refers to |
| sealed | nothing is left open, and every archive file is listed by its Manifest, byte for byte |
| archived once | a page that is archived is not fetched again, unless its worker was taken for dead and was not, or the frontier forgot |
| polite | no host is asked within its delay of the end of an exchange, as its server saw it, or of the life of who asked |
| audited | the audit of the workers themselves counts no request that came too early |
| nothing forgotten | every page that a fetched page, or a sitemap, leads to has come to an end |
| one funnel | the frontier, the log and the archive count the same |
| nothing raises | no answer makes the code that reads it raise: what is wrong in our code does not pass for what is wrong with a page |
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tests.simulator.fleet import CRAWL, Fleet
from tests.simulator.modelserver import ModelServer
from tests.simulator.object_store import ProcessStore
from thresher.core import InputError
from thresher.crawler.reading.outcome import READING_STEP
from thresher.storage.archive.record_ids import record_id
from thresher.storage.crawllog import log_line
from thresher.storage.manifest import manifests, stored_digest
from thresher.storage.warc.compression import compression_of
from thresher.storage.warc.records import ArchivedRecord, read_records

ANSWERED = frozenset({"fetched", "unchanged", "redirected", "gone"})
STRICT = False
"""Whether of two lines of a page the later counts also where clocks were set. It does not: a line whose record never reached the
storage, for its writer died, may have a later time than that of the exchange that took its place.
"""
ROUNDED_S = 0.002
"""Times of the frontier are whole milliseconds."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that is over, and what is left of it."""

    fleet: Fleet

    @cached_property
    def store(self) -> ProcessStore:
        return ProcessStore(self.fleet.objects)

    @cached_property
    def sealed(self) -> list[str]:
        return [name for name in self.store.list(f"warc/{CRAWL}/") if compression_of(name)]

    @cached_property
    def records(self) -> list[ArchivedRecord]:
        return [record for found in self.files.values() for record in found or ()]

    @cached_property
    def files(self) -> dict[str, list[ArchivedRecord] | None]:
        """The answers in each archive file; None of one that is none."""
        found: dict[str, list[ArchivedRecord] | None] = {}
        for name in self.sealed:
            with self.store.open(name) as file:
                try:
                    found[name] = [
                        each for each in read_records(file, name=name) if each.type in {"response", "revisit"}
                    ]
                except InputError:
                    found[name] = None
        return found

    @cached_property
    def log(self) -> list[log_line.LogLine]:
        """Every line."""
        return [
            line for name in log_line.files(self.store, CRAWL) for line in log_line.read(self.store, name)
        ]

    @cached_property
    def lines(self) -> list[log_line.LogLine]:
        """Of the log, those of pages."""
        return [line for line in self.log if line.kind == "page"]

    @cached_property
    def record(self) -> dict[str, ArchivedRecord]:
        return {record.record_id: record for record in self.records}

    @cached_property
    def tokens(self) -> dict[str, list[int]]:
        """Of each URL those under which an answer that ends its matter is archived, in order."""
        found = defaultdict(list)
        for token, (worker, url, _) in self.fleet.server.granted.items():
            record = self.record.get(record_id(CRAWL, worker, token).urn)
            if record is not None and record.status is not None and record.status < 500:
                found[url].append(token)
        return found


def violations(fleet: Fleet) -> list[str]:
    """Everything that does not hold."""
    ended = FinishedRun(fleet)
    return [f"{name}: {what}" for name, promise in INVARIANTS.items() for what in promise(ended)]


def settled_is_readable(ended: FinishedRun) -> Iterator[str]:
    for url, (outcome, worker, token, asked) in ended.fleet.server.ledger.settled.items():
        if outcome not in ANSWERED or not asked:
            continue
        record = ended.record.get(record_id(CRAWL, worker, token).urn)
        if record is None:
            yield f"{url} was settled as {outcome} by {worker} under {token}, and has no record"
        elif record.revisit is not None and record.revisit.refers_to not in ended.record:
            yield f"the record of {url} refers to {record.revisit.refers_to}, which is nowhere"


def all_is_sealed(ended: FinishedRun) -> Iterator[str]:
    yield from (f"{name} is no archive" for name, found in ended.files.items() if found is None)
    yield from (f"{name} is left open" for name in ended.store.list("open/"))
    listed = {
        out.name: out
        for step in ("archive", "log")
        for m in manifests(ended.store, step)
        for out in m.outputs
    }
    for name in (*ended.store.list("warc/"), *ended.store.list("log/")):
        # Who is killed while it recovers leaves a file of the log that nobody needs: who comes next writes another.
        if name not in listed and not name.startswith(f"log/{CRAWL}/{CRAWL}-recovery-"):
            yield f"{name} is in no Manifest"
    for name, output in listed.items():
        if not ended.store.exists(name) or stored_digest(ended.store, name) != output.sha256:
            yield f"{name} is not as it was sealed"


def archived_once(ended: FinishedRun) -> Iterator[str]:
    counted = Counter(record.record_id for record in ended.records)
    yield from (f"{urn} is archived {times} times" for urn, times in counted.items() if times > 1)
    server = ended.fleet.server
    for url, tokens in ended.tokens.items():
        for token in tokens[:-1]:
            worker, _, granted = server.granted[token]
            if worker not in ended.fleet.given_up and not server.may_have_forgotten(worker, granted):
                yield f"{url} was archived by {worker} under {token}, and fetched again under {tokens[-1]}"


def polite(ended: FinishedRun) -> Iterator[str]:
    fleet = ended.fleet
    delay_s = fleet.server.settings.min_delay_ms / 1000
    for host in fleet.web.hosts:
        requests = sorted(
            (each for each in fleet.web.requests if each.host == host), key=lambda each: each.begun
        )
        for before, after in pairwise(requests):
            # Who dies breaks off what it was doing; of who stands still nobody else can tell.
            stopped = min(before.by.ended_at, fleet.helpless.get(before.by.name, before.ended))
            gap_s = after.begun - min(before.ended, stopped)
            if gap_s < delay_s - ROUNDED_S:
                yield (
                    f"{host} was asked for {after.path} by {after.by.name} at {after.begun:.3f} s, {gap_s:.3f} s after the end of"
                    f" {before.path} of {before.by.name}"
                )


def audited(ended: FinishedRun) -> Iterator[str]:
    if isinstance(ended.fleet.server, ModelServer):
        sums = ended.fleet.server.model.crawl.heartbeats.figures.sums
        if "crawler" in sums and sums["crawler"].politeness_violations:
            yield f"workers counted {sums['crawler'].politeness_violations} violations of politeness"


def nothing_forgotten(ended: FinishedRun) -> Iterator[str]:
    fleet = ended.fleet
    settled = fleet.server.ledger.settled
    given_up = {each.url for each in ended.lines if each.outcome in {"failed", "refused"}}
    front, reached = list(fleet.web.seeds), set(fleet.web.seeds)
    while front:
        url = front.pop()
        if url not in settled and url not in given_up:
            yield f"{url} was never settled"
            continue
        page, outcome = fleet.web.pages.get(url), settled.get(url, ("", "", 0, False))[0]
        if page is None or outcome not in ANSWERED:
            continue
        host = url.split("/")[2]
        led = [each for each in (*page.links, page.location) if each.split("/")[2:3] == [host]]
        front += [each for each in led if each not in reached]
        reached |= set(led)
    for host in fleet.web.hosts:
        sitemap = f"http://{host}/sitemap.xml"
        if sitemap in fleet.web.pages and not fleet.server.is_given_up(host) and sitemap not in settled:
            yield f"{sitemap} was never settled"


def one_funnel(ended: FinishedRun) -> Iterator[str]:
    server = ended.fleet.server
    said = {name: n for name, n in server.stats.outcomes.items() if n}
    final = [line for line in ended.lines if line.is_final]
    if ended.fleet.clocks_differ and not STRICT:
        final = [line for line in final if not line.record or line.record in ended.record]
    last = {line.url: line for line in sorted(final, key=lambda line: line.time_ms)}
    logged = Counter(line.outcome for line in last.values())
    if said != dict(logged):
        yield f"the frontier counts {said}, the log {dict(logged)}"
    stats = server.stats
    if stats.waiting or stats.leased or stats.later:
        yield f"{stats.waiting} wait, {stats.leased} are leased, {stats.later} are tried later, and nobody works"
    for line in last.values():
        if line.record and line.record not in ended.record:
            yield f"the log says that {line.url} is archived as {line.record}, which is nowhere"


def nothing_raises(ended: FinishedRun) -> Iterator[str]:
    for line in ended.log:
        if line.error or line.reason == READING_STEP:
            yield f"reading the {line.kind} {line.url} raised {line.error.splitlines()[-1:]}"


INVARIANTS: dict[str, Callable[[FinishedRun], Iterator[str]]] = {
    "settled is readable": settled_is_readable,
    "sealed": all_is_sealed,
    "archived once": archived_once,
    "polite": polite,
    "audited": audited,
    "nothing forgotten": nothing_forgotten,
    "one funnel": one_funnel,
    "nothing raises": nothing_raises,
}
