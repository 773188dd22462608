"""The plan of an export: which documents of which parts go into the dataset, and in which groups they are encoded.

Memory: one bit for each document, some hundred bytes for each part, and nothing for each id. The ids of removed
documents lie sorted in a temporary file, 32 bytes each, which is mapped into memory while the plan is made.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.core import CorruptData, InputError
from thresher.frontier.urls.scope import registered_domain
from thresher.pipeline.steps.choice.selecting import mix_columns
from thresher.pipeline.steps.columns.cluster_sizes import ClusterSizes, cluster_sizes
from thresher.pipeline.steps.columns.column_values import ColumnTables, column_tables
from thresher.pipeline.steps.columns.export_columns import (
    column_recipe,
    column_schema,
    export_columns,
    messages_column,
)
from thresher.pipeline.steps.columns.known_columns import Column, KnownColumns
from thresher.pipeline.steps.cuts.cut_results import cut_parts
from thresher.pipeline.steps.options.export_options import ExportOptions, check_texts
from thresher.pipeline.steps.tokenizing import DocumentGroup, ExportPart
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
from thresher.shards.formats.shard_rows import RowColumns
from thresher.shards.formats.tokens import id_bytes_of
from thresher.shards.held_out_split import HeldOut
from thresher.shards.mix import mix_recipe, sources_of
from thresher.shards.order import Order
from thresher.shards.packer import Packing
from thresher.shards.special_tokens import with_private_names, without_special_tokens
from thresher.shards.tokenizer import TokenizerFile, end_token, named_token
from thresher.storage import tables
from thresher.storage.manifest import Input, Manifest, Output, fingerprint
from thresher.storage.store import Store

EXPORT = "export@6"
SEED = 0
GROUP_TEXT_BYTES = 64 << 20
"""Bytes of text that one worker encodes at a time: some 15 million tokens of English, which it holds in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """The inputs of an export. They follow from the sealed parts, the removals, the tokenizer and the options alone."""

    storage: Store
    tokenizer: TokenizerFile | None
    """None for rows without token ids."""
    encoding: TokenizerFile | None
    """The same, with the file that texts are encoded with (`shards.special_tokens`)."""
    options: ExportOptions
    bos: int | None
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
    messages: Column | None
    """The column of conversations that become the tokens; None for those of the texts."""
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
        return Packing(
            length=self.options.pack,
            kind=self.options.packing,
            pad_id=self.recipe["packing"]["pad_id"],
            is_marked=self.messages is not None,
        )

    @property
    def documents(self) -> int:
        """Number of kept documents."""
        return self.order.total

    @property
    def id_bytes(self) -> int:
        """Bytes of a token id in formats that do not fix them; 0 without a tokenizer."""
        return 0 if self.tokenizer is None else _id_bytes(self.tokenizer, self.options)

    @property
    def columns(self) -> RowColumns:
        """The columns of a row that is a document."""
        return RowColumns(
            has_ids=self.tokenizer is not None,
            has_text=self.options.with_text,
            has_labels=self.messages is not None,
            id_type=self.options.id_type,
            chosen=column_schema(self.named),
        )

    @property
    def has_usual_columns(self) -> bool:
        """Whether rows have the columns of tokenized documents and no others."""
        is_usual = self.columns.has_ids and not self.columns.has_labels
        return is_usual and not self.named and self.options.id_type is None

    @property
    def has_tokens_of_texts(self) -> bool:
        """Whether the tokens are those of the texts of all kept documents, each once."""
        return self.options.mix is None and self.messages is None

    def row_schema(self, kind: Format) -> pa.Schema:
        """Return the columns that the shards of a format have."""
        if self.options.pack is not None and not kind.is_by_source:
            return self.columns.packed
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
    bos = None if tokenizer is None else named_token(tokenizer, options.bos or "none", "--bos")
    (table,) = removed.outputs
    known = KnownColumns(store, sources)
    named = export_columns(known, options.columns)
    columns = () if options.mix is None else mix_columns(options.mix, known)
    messages = None if options.messages is None else messages_column(known, options.messages)
    every = tuple(dict.fromkeys((*columns, *named, *(() if messages is None else (messages,)))))
    documents = kept_groups(
        store, sources, table, Selected(options.verdict_set, every, cut, options.held_out)
    )
    recipe = {
        **_chosen(tokenizer, options, bos, eos),
        **({} if options.chat is None else {"messages": {"column": options.messages, **options.chat.recipe}}),
        **({"columns": column_recipe(named)} if named else {}),
        "sources": list(sources),
        "dedup": {**removed.recipe, **({} if cut is None else {"cut": dict(cut.recipe)})},
    }
    return ExportPlan(
        storage=store,
        tokenizer=tokenizer,
        encoding=None if tokenizer is None else _encoding_file(tokenizer, options),
        options=options,
        bos=bos,
        eos=None if options.chat else eos,
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
        messages=messages,
        text_bytes=documents.text_bytes,
    )


def _id_bytes(tokenizer: TokenizerFile, options: ExportOptions) -> int:
    return 4 if options.id_type or options.chat else id_bytes_of(tokenizer.largest_id + 1)


def _encoding_file(tokenizer: TokenizerFile, options: ExportOptions) -> TokenizerFile:
    """Return the tokenizer with the file that texts or conversations are encoded with."""
    if options.special_tokens == "ids":
        return tokenizer
    changed = without_special_tokens if options.chat is None else with_private_names
    json = changed(tokenizer.json, tokenizer.name)
    if options.chat is not None:
        from thresher.shards.chat.conversation_encoder import (  # noqa: PLC0415 - Jinja is for conversations only
            ConversationEncoder,
        )

        ConversationEncoder(
            json, options.chat
        )  # a template that cannot be used is refused before anything is made
    return replace(tokenizer, json=json, sha256=hashlib.sha256(json.encode()).hexdigest())


def _chosen(
    tokenizer: TokenizerFile | None, options: ExportOptions, bos: int | None, eos: int | None
) -> dict[str, Any]:
    """Return the part of the recipe that the user chose."""
    packing = None
    if options.pack is not None:
        packing = {"kind": options.packing, "length": options.pack, "pad_id": 0 if eos is None else eos}
    return {
        "tokenizer": None
        if tokenizer is None
        else {
            **tokenizer.recipe,
            "dtype": f"uint{8 * _id_bytes(tokenizer, options)}",
            "bos": bos,
            "eos": None if options.chat else eos,
            "special_tokens": options.special_tokens,
            **({} if options.id_type is None else {"id_type": options.id_type}),
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
