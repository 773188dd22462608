"""A shard that is cut off while a loader has it mapped is an error by name, and no dead process."""

import subprocess
import sys
from pathlib import Path

from tests.shards.loader.made_export import documents_of, make_export

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import os, sys
from thresher.core import CorruptData
from thresher import Loader

directory, shard = sys.argv[1:]
batches = iter(Loader(directory, length=512, batch_size=4, epochs=1))
next(batches)
size = os.stat(shard).st_size
os.truncate(shard, (1 << 20) + 4096)
try:
    for _ in batches:
        pass
except CorruptData as error:
    print(error)
"""


def test_a_shard_that_is_cut_off_while_it_is_read_is_named(tmp_path):
    """It ended the process with SIGBUS."""
    documents = documents_of("web", 70, sizes=(30_000, 40_000))
    dataset = make_export(tmp_path, {"web": documents}, shard_documents=70)
    (shard,) = dataset.shards
    command = [sys.executable, "-c", PROGRAM, tmp_path, tmp_path / shard.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        f"{shard.name}: cut off at offset 1052672 while it was read; it had {shard.bytes} bytes"
        in done.stdout
    )
