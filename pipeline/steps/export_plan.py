"""The plan of an export: which documents of which parts go into the dataset, and in which groups they are encoded.

Memory: one bit for each document, some hundred bytes for each part, and nothing for each id. The ids of removed
documents lie sorted in a temporary file, 32 bytes each, which is mapped into memory while the plan is made.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.core import CorruptData, InputError
from thresher.core.settings import format_size, parse_size
from thresher.frontier.urls.scope import registered_domain
from thresher.pipeline.steps.columns.cluster_sizes import ClusterSizes, cluster_sizes
from thresher.pipeline.steps.columns.column_values import ColumnTables, column_tables
from thresher.pipeline.steps.columns.export_columns import (
    check_column_formats,
    column_recipe,
    column_schema,
    export_columns,
)
from thresher.pipeline.steps.columns.known_columns import Column, KnownColumns
from thresher.pipeline.steps.cuts.cut_results import cut_parts
from thresher.pipeline.steps.selecting import mix_columns
from thresher.pipeline.steps.sharding import DocumentGroup
from thresher.pipeline.steps.tokenizing import ExportPart
from thresher.pipeline.steps.verdicts.removed_documents import (
    Ids,
    column_values,
    find_ids,
    ids_of,
    removed_ids,
)
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart, judged_parts
from thresher.shards.formats.format import Format
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.shard_rows import PACKED_ROW, RowColumns
from thresher.shards.formats.tokens import id_bytes_of
from thresher.shards.mix import Mix, load_mix, mix_recipe, sources_of
from thresher.shards.order import Order
from thresher.shards.packer import Packing, Packings
from thresher.shards.packing import MAX_LENGTH
from thresher.shards.split_side import HeldOut, HeldOutBy, Split, parse_share
from thresher.shards.tokenizer import TokenizerFile, end_token
from thresher.storage import tables
from thresher.storage.manifest import Input, Manifest, Output, fingerprint
from thresher.storage.store import Store

EXPORT = "export@5"
SEED = 0
GROUP_TEXT_BYTES = 128 << 20
"""Bytes of text that one worker encodes at a time: some 30 million tokens of English, which it holds in memory."""
MAX_SHARD_BYTES = 2 << 30
"""MDS counts bytes with 32 bits, and a shard may become somewhat larger than asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What the user chose."""

    formats: tuple[str, ...] = ("parquet",)
    shard_bytes: int | None = None
    """Bytes of a shard before compression; None for those that suit its format."""
    eos: str | None = None
    """The end token as typed: an id, a token or `none`; None for that of the tokenizer."""
    with_text: bool = True
    mix: Mix | None = None
    pack: int | None = None
    """Length of packed sequences; None for no packing."""
    packing: Packings = "best-fit"
    verdict_set: str = ""
    """Name of the set of verdicts; empty for those of `process`."""
    held_out: HeldOut | None = None
    columns: tuple[str, ...] = ()
    """Names of further columns of the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """The inputs of an export. They follow from the sealed parts, the removals, the tokenizer and the options alone."""

    storage: Store
    tokenizer: TokenizerFile | None
    """None for rows without token ids."""
    options: ExportOptions
    eos: int | None
    sources: tuple[str, ...]
    recipe: Mapping[str, Any]
    inputs: tuple[Input, ...]
    groups: tuple[DocumentGroup, ...]
    components: tuple[str, ...]
    order: Order
    mix_columns: tuple[Column, ...]
    """The columns that the mix names."""
    named: tuple[Column, ...]
    """The columns that the user named for the rows."""
    text_bytes: int

    @property
    def fingerprint(self) -> str:
        """Identity of the dataset."""
        return fingerprint(EXPORT, self.recipe, self.inputs)

    @property
    def packing(self) -> Packing | None:
        """How documents are put into sequences, or None."""
        if self.options.pack is None:
            return None
        pad_id = 0 if self.eos is None else self.eos
        return Packing(length=self.options.pack, kind=self.options.packing, pad_id=pad_id)

    @property
    def documents(self) -> int:
        """Number of kept documents."""
        return self.order.total

    @property
    def id_bytes(self) -> int:
        """Bytes of a token id in formats that do not fix them; 0 without a tokenizer."""
        return 0 if self.tokenizer is None else id_bytes_of(self.tokenizer.largest_id + 1)

    @property
    def columns(self) -> RowColumns:
        """The columns of a row that is a document."""
        return RowColumns(
            has_ids=self.tokenizer is not None,
            has_text=self.options.with_text,
            chosen=column_schema(self.named),
        )

    @property
    def has_usual_columns(self) -> bool:
        """Whether rows have the columns of tokenized documents and no others."""
        return self.columns.has_ids and not self.named

    def row_schema(self, kind: Format) -> pa.Schema:
        """Return the columns that the shards of a format have."""
        if self.options.pack is not None and not kind.is_by_source:
            return PACKED_ROW
        return replace(self.columns, has_text=self.columns.has_text and kind.holds_text).document


class Selected(NamedTuple):
    """What decides which documents are kept, and which of their columns are named."""

    verdict_set: str
    columns: tuple[Column, ...]
    cut: Manifest | None
    held_out: HeldOut | None


class KeptGroups(NamedTuple):
    """What an export reads."""

    groups: tuple[DocumentGroup, ...]
    rows: tuple[int, ...]
    """Documents of each source."""
    text_bytes: int


def make_plan(
    store: Store,
    sources: Sequence[str],
    tokenizer: TokenizerFile | None,
    removed: Manifest,
    options: ExportOptions | None = None,
    cut: Manifest | None = None,
) -> ExportPlan:
    """Number the kept documents, and group their parts. `cut` is the run of the cut step, if repeated text was cut.

    Raise `CorruptData` if removals do not fit, and `InputError` if an option does not fit the tokenizer, or needs one
    and there is none.
    """
    options = options or ExportOptions()
    if tokenizer is None:
        check_texts(options)
    eos = None if tokenizer is None else end_token(tokenizer, options.eos)
    (table,) = removed.outputs
    known = KnownColumns(store, sources)
    named = export_columns(known, options.columns)
    columns = () if options.mix is None else mix_columns(options.mix, known)
    every = tuple(dict.fromkeys((*columns, *named)))
    documents = kept_groups(
        store, sources, table, Selected(options.verdict_set, every, cut, options.held_out)
    )
    recipe = {
        **_chosen(tokenizer, options, eos),
        **({"columns": column_recipe(named)} if named else {}),
        "sources": list(sources),
        "dedup": {**removed.recipe, **({} if cut is None else {"cut": dict(cut.recipe)})},
    }
    return ExportPlan(
        storage=store,
        tokenizer=tokenizer,
        options=options,
        eos=eos,
        sources=tuple(sources),
        recipe=recipe,
        inputs=(
            *_tables(documents.groups),
            Input(name=table.name, sha256=table.sha256),
        ),
        groups=documents.groups,
        components=tuple(sources) if options.mix is None else sources_of(options.mix),
        order=Order(rows=documents.rows, seed=SEED),
        mix_columns=columns,
        named=named,
        text_bytes=documents.text_bytes,
    )


def chosen_options(  # noqa: PLR0913 - the options of the command, which Python has as well
    *,
    formats: Iterable[str],
    shard_size: str | None,
    eos: str | None,
    text: bool,
    pack: int | None,
    packing: Packings | None,
    mix: str | Path | None,
    verdicts: str,
    held_out: str | float | None,
    held_out_by: HeldOutBy | None,
    split: Split | None,
    columns: str | Iterable[str],
) -> ExportOptions:
    """Return what a user chose for an export. Raise `InputError` if an option is wrong, or does not fit the others."""
    formats = tuple(dict.fromkeys(map(str, formats)))
    for kind, words, known in (
        ("formats", formats, tuple(FORMATS)),
        ("packing", () if packing is None else (packing,), get_args(Packings)),
        ("held_out_by", () if held_out_by is None else (held_out_by,), get_args(HeldOutBy)),
        ("split", () if split is None else (split,), get_args(Split)),
    ):
        for word in words:
            if word not in known:
                raise InputError(f"{kind}: {word!r} is not known; choose from {', '.join(known)}")
    if packing is not None and pack is None:
        raise InputError(f"--packing {packing}: give the length of a sequence with --pack")
    if pack is not None:
        check_length(pack)
    names = tuple(columns.split(",") if isinstance(columns, str) else columns)
    names = tuple(dict.fromkeys(filter(None, map(str.strip, names))))
    if not text and "text" in names:
        raise InputError("--columns text: --no-text leaves the texts out; give one of the two")
    check_column_formats(names, formats, packed=pack is not None)
    return ExportOptions(
        formats=formats,
        shard_bytes=None if shard_size is None else parse_shard_size(shard_size),
        eos=eos,
        with_text=text,
        mix=None if mix is None else load_mix(Path(mix)),
        pack=pack,
        packing=packing or "best-fit",
        verdict_set=verdicts,
        held_out=_held_out(held_out, held_out_by, split),
        columns=names,
    )


def _held_out(share: str | float | None, by: HeldOutBy | None, split: Split | None) -> HeldOut | None:
    if share is None:
        if by is not None or split is not None:
            option = f"--split {split}" if by is None else f"--held-out-by {by}"
            raise InputError(f"{option}: say with --held-out which share is held out, such as 1%")
        return None
    return HeldOut(share=parse_share(share), by=by or "domain", split=split or "train")


def parse_shard_size(text: str) -> int:
    """Return the bytes of `--shard-size`. Raise `InputError` if it is no size, or one that no shard can have."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise InputError(f"--shard-size: {error}") from None
    if not 0 < size <= MAX_SHARD_BYTES:
        raise InputError(f"--shard-size {text}: give a size from 1 byte to {format_size(MAX_SHARD_BYTES)}")
    return size


def check_texts(options: ExportOptions) -> None:
    """Raise `InputError` if an option needs token ids, because there is no tokenizer."""
    bare = next((name for name in options.formats if FORMATS[name].needs_tokens), None)
    wanting = [
        (bare is not None, f"--format {bare}"),
        (options.pack is not None, "--pack"),
        (options.eos is not None, "--eos"),
    ]
    for is_chosen, option in wanting:
        if is_chosen:
            raise InputError(f"{option} needs token ids; add --tokenizer FILE")
    if options.mix is not None and options.mix.by == "tokens":
        raise InputError('--mix: by = "tokens" needs --tokenizer FILE; without one, write by = "documents"')


def check_length(pack: int) -> None:
    """Raise `InputError` if `--pack` is no length that a sequence can have."""
    if not 1 <= pack <= MAX_LENGTH:
        raise InputError(f"--pack {pack}: give a length from 1 to {MAX_LENGTH:,} tokens")


def _chosen(tokenizer: TokenizerFile | None, options: ExportOptions, eos: int | None) -> dict[str, Any]:
    """Return the part of the recipe that the user chose."""
    packing = None
    if options.pack is not None:
        packing = {"kind": options.packing, "length": options.pack, "pad_id": 0 if eos is None else eos}
    return {
        "tokenizer": None
        if tokenizer is None
        else {
            **tokenizer.recipe,
            "dtype": f"uint{8 * id_bytes_of(tokenizer.largest_id + 1)}",
            "eos": eos,
        },
        "order": {"permutation": "feistel-4", "seed": SEED},
        "formats": list(options.formats),
        "shard_bytes": {name: options.shard_bytes or FORMATS[name].shard_bytes for name in options.formats},
        "text": options.with_text,
        "packing": packing,
        "mix": None if options.mix is None else mix_recipe(options.mix),
        **({} if options.held_out is None else {"held_out": asdict(options.held_out)}),
    }


def _tables(groups: Sequence[DocumentGroup]) -> Iterator[Input]:
    """Yield the tables that the parts of groups are read from."""
    for group in groups:
        for part in group.parts:
            read = (part.documents, part.signatures, part.verdicts)
            yield from dict.fromkeys((*read, *part.columns.spans))


def kept_groups(store: Store, sources: Sequence[str], table: Output, chosen: Selected) -> KeptGroups:
    """Number the documents that no row of `table`, the removals, names. Raise `CorruptData` if the removals do not fit
    them.
    """
    groups: list[DocumentGroup] = []
    rows: list[int] = []
    missing = text_bytes = 0
    sized = any(column.origin == "cluster" for column in chosen.columns)
    clusters = cluster_sizes(store, table) if sized else None
    with removed_ids(store, table) as gone:
        for component, source in enumerate(sources):
            first, waiting, waiting_bytes = 0, list[ExportPart](), 0
            for judged in cut_parts(judged_parts(store, source, chosen.verdict_set), chosen.cut):
                lies = column_tables(store, judged, chosen.columns)
                part, part_missing, part_bytes = _export_part(
                    store, judged, gone, lies, clusters, chosen.held_out
                )
                missing += part_missing
                text_bytes += part_bytes
                waiting.append(part)
                waiting_bytes += part_bytes
                if waiting_bytes >= GROUP_TEXT_BYTES:
                    first = _close_group(groups, waiting, component, first)
                    waiting, waiting_bytes = [], 0
            rows.append(_close_group(groups, waiting, component, first))
    if missing != table.rows:
        raise CorruptData(f"{table.name}: its removals do not fit the kept documents; run dedup again")
    if chosen.held_out is not None and not sum(rows):
        raise InputError(
            f"--held-out {chosen.held_out.share:g}: no document is on the side {chosen.held_out.split!r}; give another "
            "share, or --held-out-by url if the documents are of few domains"
        )
    return KeptGroups(tuple(groups), tuple(rows), text_bytes)


def _close_group(groups: list[DocumentGroup], parts: Sequence[ExportPart], component: int, first: int) -> int:
    """Append a group of parts, unless there are none, and return the number of the row behind it."""
    if parts:
        groups.append(
            DocumentGroup(name=f"{len(groups):06d}", parts=tuple(parts), component=component, first=first)
        )
    return first + sum(part.rows for part in parts)


def _export_part(
    store: Store,
    judged: JudgedPart,
    gone: Ids,
    lies: ColumnTables,
    clusters: ClusterSizes | None,
    held_out: HeldOut | None,
) -> tuple[ExportPart, int, int]:
    """Return the part, the number of its documents that were removed, and the bytes of text that it keeps."""
    signatures = judged.signatures
    kept: list[npt.NDArray[np.bool_]] = [np.zeros(0, dtype=np.bool_)]
    sizes = b""
    text_bytes = missing = 0
    names = ("id", "text_bytes", *(() if held_out is None else ("url",)))
    for rows in tables.row_groups(store, signatures, tables.columns(tables.SIGNATURES, *names)):
        ids = ids_of(rows["id"], signatures.name)
        is_gone = find_ids(ids, gone)[0]
        missing += int(is_gone.sum())
        stays = ~is_gone
        if held_out is not None:
            urls = cast("list[str]", rows["url"].to_pylist())
            stays &= held_out.takes(urls if held_out.by == "url" else map(_domain, urls))
        kept.append(stays)
        text_bytes += int(column_values(rows["text_bytes"], "<i8")[stays].sum())
        if clusters is not None:
            sizes += clusters.sizes_of(ids).tobytes()
    stays = np.concatenate(kept)
    part = ExportPart(
        documents=_input(judged.documents),
        signatures=_input(signatures),
        verdicts=_input(judged.verdicts),
        columns=lies._replace(clusters=sizes),
        kept=np.packbits(stays).tobytes(),
        rows=int(stays.sum()),
    )
    return part, missing, text_bytes


def _domain(url: str) -> str:
    """Return the domain that a URL belongs to; the URL itself if it has no host."""
    parts = url.split("/", 3)
    host = parts[2].rpartition("@")[2].partition(":")[0] if len(parts) > 2 and not parts[1] else ""
    return registered_domain(host) if host else url


def _input(output: Output) -> Input:
    return Input(name=output.name, sha256=output.sha256)
