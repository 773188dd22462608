"""Small exports with shards of tokens, as an export writes them, and what a run of them must give."""

import hashlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thresher.shards.dataset import Dataset, ShardFile, SideFile
from thresher.shards.formats.packing_plan import plan_name, write_plan
from thresher.shards.formats.tokens import TokensShard, TokensWriter, refs_name, shard_path


def documents_of(source, count, *, sizes=(3, 40), seed=0):
    """Documents whose tokens are all different within 65,536: each token tells its document and its place."""
    rng = np.random.default_rng([seed, *source.encode()])
    lengths = rng.integers(*sizes, count)  # type: ignore[call-overload]
    first = int(rng.integers(0, 1 << 16))
    ends = np.cumsum(lengths)
    return [
        ((np.arange(stop - size, stop) + first) % (1 << 16)).astype(np.uint32)
        for stop, size in zip(ends, lengths, strict=True)
    ]


def make_export(
    root, sources, *, shard_documents=50, plan_length=None, id_bytes=2, tokenizer="t", vocabulary=1 << 16
):
    """Write an export of documents by source, and return its manifest."""
    shards = []
    for source, documents in sources.items():
        for number, begin in enumerate(range(0, len(documents), shard_documents)):
            name = shard_path(source, number)
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            part = documents[begin : begin + shard_documents]
            with path.open("wb") as file:
                writer = TokensWriter(file, id_bytes=id_bytes)
                writer.write(np.concatenate(part), np.cumsum([len(one) for one in part]))
                frame = writer.close()
            refs = refs_name(name)
            pq.write_table(references(source, begin, len(part)), root / refs, row_group_size=7)
            beside, sequences = [SideFile(name=refs, **seal_of(root / refs))], 0
            if plan_length is not None:
                plan = plan_name(name, plan_length)
                with (root / plan).open("wb") as file:
                    written = write_plan(file, TokensShard.open(path).ends, plan_length, frame)
                sequences = written.loss.sequences
                beside.append(SideFile(name=plan, frame_sha256=written.frame_sha256, **seal_of(root / plan)))
            shards.append(
                ShardFile(
                    name=name,
                    documents=len(part),
                    tokens=sum(map(len, part)),
                    format="tokens",
                    source=source,
                    frame_sha256=frame,
                    sequences=sequences,
                    companions=tuple(beside),
                    **seal_of(path),
                )
            )
    fingerprint = hashlib.sha256(repr(shards).encode()).hexdigest()
    dataset = Dataset(
        fingerprint=fingerprint,
        recipe={
            "tokenizer": {
                "name": "t",
                "sha256": tokenizer,
                "vocabulary": vocabulary,
                "dtype": f"uint{8 * id_bytes}",
            }
        },
        shards=tuple(shards),
        files=(),
    )
    (root / "manifest.json").write_bytes(dataset.to_json())
    return dataset


def reseal(root, dataset, **changes):
    """Write another manifest for the same files."""
    (root / "manifest.json").write_bytes(replace(dataset, **changes).to_json())


def seal_of(path):
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def references(source, first, count):
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": [f"{source}-{number}" for number in numbers],
            "url": [f"https://{source}.example/{number}" for number in numbers],
            "source": [f"crawl of {source}"] * count,
            "record_file": [f"warc/{source}/{number // 10}.warc.gz" for number in numbers],
            "record_offset": [1000 * number for number in numbers],
            "record_length": [500 + number for number in numbers],
            "record_digest": [f"sha1:{number}" for number in numbers],
        }
    )


def segments_of(row):
    """The pieces of a row of a batch, as tuples of tokens; checks positions and segments on the way."""
    ids, positions, segments = (row[name] for name in ("input_ids", "positions", "segments"))
    used = int((segments > 0).sum())
    assert not segments[used:].any()
    assert not positions[used:].any()
    assert (np.diff(segments[:used]) >= 0).all()
    edges = np.flatnonzero(np.diff(segments[:used], prepend=0, append=-1)).tolist()
    pieces = []
    for number, (start, stop) in enumerate(pairwise(edges), 1):
        assert (segments[start:stop] == number).all()
        assert positions[start:stop].tolist() == list(range(stop - start))
        pieces.append(tuple(ids[start:stop].tolist()))
    return pieces


def rows_of(batch):
    return [
        {name: batch[name][row] for name in ("input_ids", "positions", "segments")}
        for row in range(len(batch["sequences"]))
    ]
