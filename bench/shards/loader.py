"""Loaders: sequences of 2,048 tokens a second and a process, from the page cache and from an S3 server; packing.

usage: loader.py build DIR [--sequences N]       the same tokens as an export and as one flat file (memmap)
       loader.py run DIR TOOL,... [--sequences N] [--rounds N]
                                                 TOOL: memmap, memmap-batch, thresher (-concat, -mix, -window), or
                                                 one of bench/peers/shards/loaders.py; the median of the rounds
       loader.py one DIR TOOL                    one round, in this process
       loader.py many DIR [--shards N]           as many shards of 12 documents, with 256 open files
       loader.py resume DIR                      a fresh process stands at 90 % and gives its first batch
       loader.py bucket DIR                      from an S3 server (SeaweedFS): cold, warm, resumed at 90 %
       loader.py shuffle .                       rank correlation of order and export, shards among 256 neighbours
       loader.py packing LENGTHS.npy             utilisation and seconds per million documents, of real lengths

One JSON line each. Batches are 8 rows, as int64 tensors where PyTorch is installed: with a peer among the tools, all
run in the environment of the peers, which has it. The lengths of `build` are drawn from `--lengths LENGTHS.npy` if it
is given (tokens of real documents), else from a lognormal distribution.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

LENGTH, BATCH, SHARD_TOKENS = 2048, 8, 16_000_000
OPTIONS = {
    "thresher": {},
    "thresher-concat": {"packing": "concat"},
    "thresher-mix": {"mix": {"web": 0.7, "books": 0.3}, "epochs": None},
    "thresher-window": {"shuffle": "window"},
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "verb", choices=["build", "run", "one", "many", "resume", "bucket", "shuffle", "packing"]
    )
    parser.add_argument("place", type=Path)
    parser.add_argument("tool", nargs="?")
    parser.add_argument("--sequences", type=int, default=48_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, default=5000)
    parser.add_argument("--lengths", type=Path)
    arguments = parser.parse_args()
    for line in globals()[arguments.verb](arguments):
        print(json.dumps({"bench": "loader", **line, "load": round(os.getloadavg()[0], 1)}), flush=True)


def build(arguments):
    from tests.shards.loader.made_export import make_export

    rng = np.random.default_rng(0)
    total = arguments.sequences * LENGTH
    known = (
        np.load(arguments.lengths) if arguments.lengths else rng.lognormal(6.4, 1.1, 100_000).astype(int) + 1
    )
    lengths = rng.choice(known, int(total / known.mean() * 1.2) + 10)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), total)]
    ids = rng.integers(0, 50_000, total, dtype=np.uint16)
    arguments.place.mkdir(parents=True, exist_ok=True)
    ids.tofile(arguments.place / "tokens.bin")
    stops = np.cumsum(lengths)
    documents = np.split(ids[: stops[-1]].astype(np.uint32), stops[:-1])
    cut = int(len(documents) * 0.8)
    shutil.rmtree(arguments.place / "out", ignore_errors=True)
    make_export(
        arguments.place / "out",
        {"web": documents[:cut], "books": documents[cut:]},
        shard_documents=int(SHARD_TOKENS / lengths.mean()),
        plan_length=LENGTH,
    )
    yield {
        "verb": "build",
        "documents": len(documents),
        "tokens": int(stops[-1]),
        "mean_length": float(lengths.mean()),
    }


def to_tensors():
    try:
        import torch
    except ImportError:
        return lambda array: array
    torch.set_num_threads(1)
    return torch.from_numpy


def memmap(place, tensor, count):
    matrix = np.memmap(place / "tokens.bin", np.uint16, mode="r").reshape(-1, LENGTH)
    for index in np.random.default_rng(1).permutation(len(matrix))[:count]:
        yield tensor(matrix[index].astype(np.int64)), 1


def memmap_batch(place, tensor, count):
    matrix = np.memmap(place / "tokens.bin", np.uint16, mode="r").reshape(-1, LENGTH)
    for indexes in np.random.default_rng(1).permutation(len(matrix))[:count].reshape(-1, BATCH):
        yield tensor(matrix[indexes].astype(np.int64)), BATCH


def thresher(location, tensor, state=None, cache=None, **options):
    from thresher import Loader

    loader = Loader(location, length=LENGTH, batch_size=BATCH, cache=cache, **options)
    if state:
        loader.load_state_dict({**loader.state_dict(), "sequences": int(loader.sequences * state)})
    for batch in loader:
        yield {name: tensor(array) for name, array in batch.items()}, BATCH
    loader.close()


def timed(batches, most):
    """Sequences a second and a CPU second, without the first batch, which opens and warms; a second round counts."""
    begin = time.perf_counter()
    first = next(batches)
    first_s = time.perf_counter() - begin
    begin, cpu, count = time.perf_counter(), time.process_time(), 0
    for _, rows in batches:
        count += rows
        if count >= most:
            break
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    del first
    return {
        "sequences": count,
        "per_s": round(count / wall),
        "per_cpu_s": round(count / cpu),
        "first_s": round(first_s, 4),
    }


def run(arguments):
    tools = arguments.tool.split(",")
    lines = {tool: [] for tool in tools}
    for _ in range(arguments.rounds):
        for tool in tools:
            sequences = ["--sequences", str(arguments.sequences)]
            command = [
                interpreter(tools, arguments.place),
                __file__,
                "one",
                arguments.place,
                tool,
                *sequences,
            ]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            lines[tool].append(json.loads(done.stdout.splitlines()[-1]))
    for tool, found in lines.items():
        median = {
            name: statistics.median(line[name] for line in found)
            for name in ("per_s", "per_cpu_s", "first_s")
        }
        yield {"verb": "run", "tool": tool, "sequences": found[0]["sequences"], **median}


def interpreter(tools, place):
    """The Python that runs the tools. Writes the peers' layouts when they are first needed."""
    from bench.peers import environments
    from bench.peers.shards import loaders

    if not loaders.TOOLS.keys() & tools:
        return sys.executable
    found = environments.python("loaders")
    if not (place / "datasets").exists():
        subprocess.run([found, loaders.__file__, place], check=True, stdout=sys.stderr)
    return found


def one(arguments):
    from bench.peers.shards import loaders

    tensor, cache, name = to_tensors(), arguments.place / "cache", arguments.tool
    for _ in range(2):  # the first round checks the blocks' checksums and fills the page cache
        if name in OPTIONS:
            batches = thresher(arguments.place / "out", tensor, cache=cache, **OPTIONS[name])  # type: ignore[arg-type]
        elif name in loaders.TOOLS:
            batches = loaders.TOOLS[name](arguments.place, tensor)
        else:
            batches = globals()[name.replace("-", "_")](arguments.place, tensor, arguments.sequences)
        line = timed(batches, arguments.sequences)
    yield {"verb": "one", "tool": name, **line}


def many(arguments):
    from tests.shards.loader.made_export import documents_of, make_export

    out = arguments.place / f"many-{arguments.shards}"
    if not (out / "manifest.json").exists():
        make_export(
            out, {"web": documents_of("web", 12 * arguments.shards, sizes=(200, 3000))}, shard_documents=12
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    for plans in ("computed", "cached"):
        before, begin, cpu = resident_mb(), time.perf_counter(), time.process_time()
        batches = thresher(out, lambda array: array, cache=out / "cache")
        first = next(batches)
        first_s, rows = time.perf_counter() - begin, BATCH + sum(count for _, count in batches)
        yield {
            "verb": "many", "shards": arguments.shards, "plans": plans, "first_s": round(first_s, 2), "sequences": rows,
            "per_cpu_s": round(rows / (time.process_time() - cpu)), "memory_mb": resident_mb() - before,
        }  # fmt: skip
        del first


def resident_mb():
    """Memory of this process that is not the page cache's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) // 1024


def resume(arguments):
    import thresher.shards.loader.exact_loader  # noqa: F401 - imports are not counted

    tensor = to_tensors()
    for name, options in OPTIONS.items():
        if options.get("epochs", 1):  # type: ignore[attr-defined]
            begin = time.perf_counter()
            next(thresher_at(arguments.place / "out", tensor, arguments.place / "cache", options))
            yield {"verb": "resume", "tool": name, "first_batch_s": round(time.perf_counter() - begin, 4)}


def thresher_at(location, tensor, cache, options):
    return thresher(location, tensor, state=0.9, cache=cache, **options)


def bucket(arguments):
    from tests.storage.s3server import BUCKET, KEYS, running_server
    from thresher.storage.location import open_store

    tensor, cache = to_tensors(), arguments.place / "bucket-cache"
    os.environ |= {**KEYS, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": os.devnull}
    with running_server(arguments.place / "s3") as server:
        os.environ["AWS_ENDPOINT_URL"] = server.endpoint
        store = open_store(f"s3://{BUCKET}/out", ROOT)
        for path in (arguments.place / "out").rglob("*"):
            if path.is_file():
                store.put_file(path, str(path.relative_to(arguments.place / "out")))
        for name in ("thresher", "thresher-window"):
            for state in (None, 0.9):
                shutil.rmtree(cache, ignore_errors=True)
                for warmth in ("cold", "warm"):
                    batches = thresher(store.uri, tensor, state=state, cache=cache, **OPTIONS[name])  # type: ignore[arg-type]
                    yield {
                        "verb": "bucket",
                        "tool": name,
                        "cache": warmth,
                        "from": state or 0,
                        **timed(batches, arguments.sequences),
                    }
        store.close()  # type: ignore[attr-defined]
    shutil.rmtree(arguments.place / "s3", ignore_errors=True)


def shuffle(_):
    from thresher.shards.loader.epoch_order import EpochOrder

    for shards in (13, 104):
        for way in ("global", "window", "none"):
            order = EpochOrder([4000] * shards, seed=0, name="", shuffle=way)
            shard, sequence = order.place(0, np.arange(order.sequences))
            seen = shard * 4000 + sequence
            distinct = [len(set((seen[at : at + 256] // 4000).tolist())) for at in range(0, len(seen), 256)]
            correlation = float(np.corrcoef(np.arange(len(seen)), seen)[0, 1])
            yield {
                "verb": "shuffle",
                "shuffle": way,
                "shards": shards,
                "correlation": round(correlation, 4),
                "shards_in_256": float(np.mean(distinct)),
            }


def packing(arguments):
    from thresher.shards import packing as ways

    sizes = np.load(arguments.place)
    for length in (1024, 2048, 4096, 8192):
        ends = np.cumsum(sizes, dtype=np.uint64)
        windows = list(ways.best_fit_windows(ends, length))
        million = np.cumsum(np.random.default_rng(0).choice(sizes, 1_000_000), dtype=np.uint64)
        begin = time.process_time()
        for _ in ways.best_fit_windows(million, length):
            pass
        seconds = time.process_time() - begin
        count = sum(len(each.counts) for each in windows)
        first_fit = first_fit_count(sizes, length)
        for name, sequences in (
            ("best-fit", count),
            ("concat", -(-int(ends[-1]) // length)),
            ("none", len(sizes)),
            ("first-fit", first_fit),
        ):
            loss = ways.packing_loss("best-fit" if name == "first-fit" else name, ends, sequences, length)
            yield {
                "verb": "packing", "packing": name, "length": length, "documents": len(sizes), "sequences": sequences,
                "utilisation": round(loss.utilisation, 5), "cut_documents": round(loss.cut_documents / len(sizes), 4),
                "tokens_lost": round(1 - loss.placed / loss.tokens, 4),
                **({"s_per_million": round(seconds, 2)} if name == "best-fit" else {}),
            }  # fmt: skip


def first_fit_count(sizes, length, open_bins=64):
    """Sequences of first-fit in the order of the documents with a bounded number of open sequences, as others pack."""
    count, rooms = 0, []
    for whole, size in zip((sizes // length).tolist(), (sizes % length).tolist(), strict=True):
        count += whole
        if not size:
            continue
        for place, room in enumerate(rooms):
            if room >= size:
                rooms[place] = room - size
                break
        else:
            count += 1
            rooms.append(length - size)
            if len(rooms) > open_bins:
                rooms.pop(0)
    return count


if __name__ == "__main__":
    main()
