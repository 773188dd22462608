"""Loaders of others on the sequences of `bench/shards/loader.py`: MosaicML Streaming, WebDataset, datatrove, datasets.

usage: loaders.py DIR       write DIR/tokens.bin (uint16, 2,048 a sequence) in the layout of each
`bench/shards/loader.py run DIR TOOL,...` reads them. It runs in the environment of `loaders.txt`.

Each loader shuffles as far as it can: Streaming over all samples, WebDataset and datasets with a buffer of 1,000.
datatrove reads by index and has no order of its own, so a random index is drawn for it.
"""

import io
import random
import shutil
import sys
import tarfile
from pathlib import Path

import numpy as np

LENGTH, BATCH, SHARD = 2048, 8, 4000
SEED = 1


def matrix_of(place):
    return np.memmap(place / "tokens.bin", np.uint16, mode="r").reshape(-1, LENGTH)


def blocks_of(matrix):
    return (matrix[start : start + SHARD] for start in range(0, len(matrix), SHARD))


def directory(place, name):
    shutil.rmtree(place / name, ignore_errors=True)
    (place / name).mkdir()
    return place / name


def write_streaming(place, matrix):
    from streaming import MDSWriter

    out = directory(place, "streaming")
    with MDSWriter(
        out=str(out),
        columns={"tokens": f"ndarray:uint16:{LENGTH}"},
        size_limit=SHARD * LENGTH * 2,
        exist_ok=True,
    ) as writer:
        for row in matrix:
            writer.write({"tokens": row})


def write_webdataset(place, matrix):
    out = directory(place, "webdataset")
    for shard, rows in enumerate(blocks_of(matrix)):
        with tarfile.open(out / f"{shard:05d}.tar", "w") as tar:
            for number, row in enumerate(rows):
                member = tarfile.TarInfo(f"{shard * SHARD + number:08d}.bin")
                member.size = row.nbytes
                tar.addfile(member, io.BytesIO(row.tobytes()))


def write_datatrove(place, matrix):
    out = directory(place, "datatrove")
    for shard, rows in enumerate(blocks_of(matrix)):
        # A sample has one token more than its length: the target of the last one.
        np.concatenate((rows, rows[:, -1:]), axis=1).tofile(out / f"{shard:05d}.ds")


def write_datasets(place, matrix):
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = directory(place, "datasets")
    for shard, rows in enumerate(blocks_of(matrix)):
        column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), LENGTH)
        table = pa.table({"tokens": column})
        pq.write_table(table, out / f"{shard:05d}.parquet", row_group_size=1000, compression="none")


def streaming(place, tensor):
    import streaming as mosaicml

    mosaicml.base.util.clean_stale_shared_memory()
    data = mosaicml.StreamingDataset(
        local=str(place / "streaming"), shuffle=True, shuffle_algo="py1e", shuffle_seed=SEED, batch_size=BATCH,
        num_canonical_nodes=1,
    )  # fmt: skip

    def joined(rows):
        return tensor(np.stack([row["tokens"] for row in rows]).astype(np.int64))

    for batch in mosaicml.StreamingDataLoader(data, batch_size=BATCH, num_workers=0, collate_fn=joined):
        yield batch, len(batch)


def webdataset(place, tensor):
    import webdataset as wds

    shards = sorted(str(path) for path in (place / "webdataset").glob("*.tar"))
    random.Random(SEED).shuffle(shards)
    data = wds.WebDataset(shards, shardshuffle=False, empty_check=False).shuffle(
        1000, rng=random.Random(SEED)
    )
    for row in data:
        yield tensor(np.frombuffer(row["bin"], np.uint16).astype(np.int64)), 1


def datatrove(place, tensor):
    from datatrove.utils.dataset import DatatroveFolderDataset

    del tensor  # it makes tensors of its own
    data = DatatroveFolderDataset(str(place / "datatrove"), LENGTH, token_size=2, shuffle=True, seed=SEED)
    for index in np.random.default_rng(SEED).permutation(len(data)).tolist():
        yield data[index]["input_ids"][:LENGTH], 1


def datasets(place, tensor):
    import datasets as hub

    hub.disable_progress_bars()
    files = sorted(str(path) for path in (place / "datasets").glob("*.parquet"))
    data = hub.load_dataset(
        "parquet", data_files=files, split="train", streaming=True, cache_dir=str(place / "hub-cache")
    )
    for row in data.with_format("numpy").shuffle(seed=SEED, buffer_size=1000):
        yield tensor(row["tokens"].astype(np.int64)), 1


TOOLS = {each.__name__: each for each in (streaming, webdataset, datatrove, datasets)}


def main():
    place = Path(sys.argv[1])
    matrix = matrix_of(place)
    for write in (write_streaming, write_webdataset, write_datatrove, write_datasets):
        write(place, matrix)


if __name__ == "__main__":
    main()
