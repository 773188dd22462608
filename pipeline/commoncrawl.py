"""Common Crawl as an input: whole files of a crawl, or single records looked up in its index, in the archive of a source.

1. Whole files come in the order of their list. Each is read by ranges into a private file, read through, indexed and sealed as a
   local one is; what is sealed is known and not asked for.
2. Single records come in batches (`storage.commoncrawl.batch`), each sealed as one archive file, with a table of what became of its
   rows behind it. A killed command loses the batch at hand; typed again it goes on behind what is sealed.
3. A selection that is done is sealed itself: typed again it does nothing, and asks nothing.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from core import Conflict, InputError
from crawler.identity import user_agent
from frontier import NotAUrl, canonical
from pipeline.config import Config
from pipeline.progress import Progress
from storage import cdxj
from storage.commoncrawl import columnar, paths, taken, zipnum
from storage.commoncrawl.batch import ROWS, batches, haul, identity
from storage.commoncrawl.client import Client, pieces
from storage.commoncrawl.layout import SCHEME, Kind, address, paths_list
from storage.commoncrawl.row import Row
from storage.commoncrawl.selection import Selection
from storage.commoncrawl.source import Source
from storage.commoncrawl.web import Web
from storage.lines import Lines
from storage.manifest import JSON, Manifest, fingerprint, load, manifest_name, put_output, seal
from storage.records import DAMAGED
from storage.reseal import contents
from storage.store import Store

ARCHIVE = "archive@1"
SELECTED = "selection@1"
IndexName = Literal["cdx", "columnar"]
ENDINGS = {".warc.wat.gz": ".wat", ".warc.wet.gz": ".wet", ".warc.gz": ""}
"""Ends of Common Crawl's file names, and what of them stays in ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of a crawl is to come in, as a user says it. Nothing of the second half: whole files."""

    files: int | None = None
    """The first so many."""
    segments: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    mimes: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    languages: tuple[str, ...] = ()
    limit: int | None = None
    index: IndexName = "cdx"

    @property
    def is_selective(self) -> bool:
        """Whether single records are wanted."""
        return bool(
            self.domains or self.prefixes or self.mimes or self.statuses or self.languages or self.limit
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What became of it."""

    added: int = 0
    """Archive files sealed now."""
    known: int = 0
    """Files, or rows of the index, that were there before."""
    records: int = 0
    """In the added files."""
    responses: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """Records that are not what the index says, by reason."""

    def __add__(self, other: "Brought") -> "Brought":
        return Brought(
            added=self.added + other.added,
            known=self.known + other.known,
            records=self.records + other.records,
            responses=self.responses + other.responses,
            refused=dict(Counter(self.refused) + Counter(other.refused)),
        )


def is_meant(argument: str) -> bool:
    """Whether an argument of `ingest` names something of Common Crawl's."""
    return argument.startswith(SCHEME) or argument.endswith(paths.SUFFIXES)


def ingest_all(
    store: Store, config: Config, source: str, what: Iterable[str], wanted: Wanted, progress: Progress
) -> Brought:
    """Bring in each argument as `ingest` does. Raises `InputError` where one is not of Common Crawl."""
    arguments = tuple(what)
    for argument in arguments:
        if not is_meant(argument):
            raise InputError(
                f"ingest {argument}: not of Common Crawl, as the others are; ingest it by a command of its own"
            )
    found = Brought()
    for argument in arguments:
        found += ingest(store, config, source, argument, wanted, progress)
    return found


def ingest(
    store: Store, config: Config, source: str, what: str, wanted: Wanted, progress: Progress
) -> Brought:
    """Bring in `commoncrawl:CC-MAIN-2024-22`, or the files of a local list of paths, as `wanted` says.

    Raises `InputError` for what cannot be meant, `Unavailable` where Common Crawl does not answer for long; what was sealed before
    stays.
    """
    local = Path(what) if what.endswith(paths.SUFFIXES) else None
    crawl, kind = address(what) if local is None else (None, None)
    selection = _selection(crawl, kind, wanted, what)
    named = paths.read_local(local) if local else ()
    client = Client(_source(config))
    try:
        if selection is not None:
            return select(store, source, client, selection, wanted.index, progress)
        if crawl is not None and kind is not None:
            listed = paths_list(crawl, kind)
            named = paths.archives(paths.read_list(client, listed), f"{client.uri}{listed}")
        chosen = tuple(paths.chosen(named, segments=wanted.segments, files=wanted.files))
        if not chosen:
            raise InputError(f"ingest {what}: no file of it is in the segments {sorted(wanted.segments)}")
        return bring(store, source, client, chosen, progress)
    finally:
        client.close()


def bring(store: Store, source: str, client: Client, files: Iterable[str], progress: Progress) -> Brought:
    """Bring in whole files of Common Crawl, in their order; those that are sealed are known."""
    listed = tuple(files)
    found = Brought()
    progress.start(f"ingest {source}", len(listed))
    try:
        for path in listed:
            found += _bring(store, source, client, path)
            progress.advance(f"{found.responses:,} responses")
    finally:
        progress.done()
    return found


def select(
    store: Store,
    source: str,
    client: Client,
    selection: Selection,
    index: IndexName,
    progress: Progress,
    *,
    rows_a_file: int = ROWS,
) -> Brought:
    """Bring in the records of a selection that the source does not have, so many in one archive file at most."""
    recipe: dict[str, JSON] = {**selection.recipe(), "index": index}
    print_ = fingerprint(SELECTED, recipe, ())
    part = f"{source}/{selection.crawl}-{print_[:16]}"
    done = manifest_name(SELECTED.partition("@")[0], part)
    if store.exists(done):
        return Brought(known=load(store, done).counts["rows"])
    spans = selection.spans()
    rows = (
        zipnum.rows(client, selection.crawl, spans)
        if index == "cdx"
        else columnar.rows(client, selection.crawl, spans, selection.subsets)
    )
    known = taken.known(store, source)
    met: Counter[str] = Counter()
    found = Brought()
    progress.start(f"ingest {source}", None)
    wanted = islice(filter(selection.admits, rows), selection.limit)
    try:
        for batch in batches(_unknown(wanted, known, met), rows_a_file):
            found += _haul(store, source, client, selection.crawl, batch)
            progress.advance(f"{found.responses:,} records", len(batch))
    finally:
        progress.done()
    manifest = Manifest(
        step=SELECTED,
        part=part,
        fingerprint=print_,
        recipe=recipe,
        inputs=(),
        outputs=(),
        counts=dict(met),
    )
    seal(store, manifest)
    return found + Brought(known=met["known"])


def _unknown(rows: Iterable[Row], known: taken.Known, met: Counter[str]) -> Iterator[Row]:
    for row in rows:
        met["rows"] += 1
        if row in known:
            met["known"] += 1
        else:
            yield row


def _haul(store: Store, source: str, client: Client, crawl: str, batch: tuple[Row, ...]) -> Brought:
    """One batch: its archive file first, then the table that makes it known."""
    print_ = identity(batch)
    part = f"{source}/{crawl}-{print_[:16]}"
    warc = f"warc/{part}.warc.gz"
    with store.stage(warc) as staged:
        hauled = haul(client, batch, staged.path, warc, crawl)
        refused = Counter(one.reason for one in hauled.taken if one.reason)
        if len(batch) > refused.total():
            _seal_archive(
                store,
                part,
                warc,
                staged.path,
                {"from": client.uri, "crawl": crawl},
                hauled.counts,
                hauled.lines,
            )
    recipe: dict[str, JSON] = {"crawl": crawl, "ranges": print_}
    table = put_output(
        store, taken.name(part), len(batch), partial(taken.write, taken=hauled.taken, file=warc)
    )
    seal(
        store,
        Manifest(
            step=taken.STEP,
            part=part,
            fingerprint=fingerprint(taken.STEP, recipe, ()),
            recipe=recipe,
            inputs=(),
            outputs=(table,),
            counts={"rows": len(batch), **{f"refused.{reason}": count for reason, count in refused.items()}},
        ),
    )
    return Brought(
        added=1 if len(batch) > refused.total() else 0,
        records=hauled.counts.total(),
        responses=hauled.counts["response"],
        refused=dict(refused),
    )


def _bring(store: Store, source: str, client: Client, path: str) -> Brought:
    """One whole file."""
    file_name = path.rpartition("/")[2]
    ending = next((ending for ending in ENDINGS if file_name.endswith(ending)), None)
    if ending is None:
        raise InputError(f"ingest {path}: no WARC, WAT or WET file by its name")
    part = f"{source}/{file_name.removesuffix(ending)}{ENDINGS[ending]}"
    sealed = manifest_name("archive", part)
    if store.exists(sealed):
        there = load(store, sealed).recipe
        if there.get("from", path) != path:
            raise InputError(
                f"ingest {path}: {source} holds another file of that name ({there['from']}); give the source another name"
            )
        return Brought(known=1)
    warc = f"warc/{part}.warc.gz"
    with store.stage(warc) as staged:
        told = client.head(path)
        with staged.path.open("wb") as file:
            for data in client.ahead(pieces(path, told), etag=told.etag):
                file.write(data)
        if staged.path.stat().st_size != told.size:
            raise InputError(
                f"ingest {path}: {staged.path.stat().st_size} bytes came of {told.size}; run it again"
            )
        with staged.path.open("rb") as file:
            counts, lines = contents(file, warc)
        if not counts.keys() - {DAMAGED}:
            raise InputError(f"ingest {client.uri}{path}: no WARC record in it")
        _seal_archive(store, part, warc, staged.path, {"from": path, "ingested": file_name}, counts, lines)
    return Brought(added=1, records=counts.total(), responses=counts["response"])


def _seal_archive(
    store: Store,
    part: str,
    warc: str,
    made: Path,
    recipe: dict[str, JSON],
    counts: Counter[str],
    lines: Lines,
) -> None:
    """Publish an archive file with its index and its Manifest. One that was sealed without our knowing has the same bytes."""
    whole = {"ingested": warc.rpartition("/")[2], **recipe}
    outputs = (
        put_output(store, warc, counts.total(), partial(shutil.copyfile, made)),
        put_output(store, f"warc/{part}.cdxj.gz", len(lines), partial(cdxj.write, lines=lines)),
    )
    sealed = manifest_name("archive", part)
    if store.exists(sealed):
        if load(store, sealed).outputs[0].sha256 != outputs[0].sha256:
            raise Conflict(
                f"{sealed} was sealed with other bytes than Common Crawl has now; give the source another name"
            )
        return
    manifest = Manifest(
        step=ARCHIVE,
        part=part,
        fingerprint=fingerprint(ARCHIVE, whole, ()),
        recipe=whole,
        inputs=(),
        outputs=outputs,
        counts=counts,
    )
    seal(store, manifest)


def _selection(crawl: str | None, kind: Kind | None, wanted: Wanted, what: str) -> Selection | None:
    """What is to be looked up; None where whole files are wanted."""
    if not wanted.is_selective:
        return None
    if crawl is None or kind != "warc":
        raise InputError(
            f"ingest {what}: single records are looked up in an index of pages: give commoncrawl:CC-MAIN-..."
        )
    if wanted.files is not None or wanted.segments:
        raise InputError(
            "--files and --segment choose whole files; leave them out where single records are looked up"
        )
    statuses = {"statuses": frozenset(wanted.statuses)} if wanted.statuses else {}
    return Selection(
        crawl=crawl,
        domains=frozenset(map(_host, wanted.domains)),
        prefixes=tuple(sorted(set(wanted.prefixes))),
        mimes=frozenset(mime.lower() for mime in wanted.mimes),
        languages=frozenset(wanted.languages),
        limit=wanted.limit,
        **statuses,
    )


def _host(domain: str) -> str:
    """The domain as URLs have it: lower case, ASCII."""
    try:
        return canonical(f"http://{domain.strip().rstrip('.')}/").host
    except NotAUrl as error:
        raise InputError(f"--domain {domain}: {error}; write one such as example.org") from error


def _source(config: Config) -> Source:
    base = config.ingest.commoncrawl
    name = user_agent(config.contact)
    parts = urlsplit(base)
    if parts.scheme == "s3":
        from storage.commoncrawl.bucket import Bucket  # noqa: PLC0415 - the client takes most of a second to import

        return Bucket(parts.netloc, parts.path, name)
    return Web(base, name)
