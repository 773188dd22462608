"""An object of any size passes through a bounded memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.s3server import BUCKET

SIZE = 300 << 20
BOUND = 100 << 20
PROGRAM = """
import hashlib, resource, sys
from pathlib import Path
from thresher.storage.s3.s3_store import S3Store

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

name, endpoint, path = sys.argv[1:]
bucket = S3Store(name, "memory", endpoint=endpoint)
bucket.delete("large")
before = peak()
assert bucket.put_file(Path(path), "large")
adopted = peak()
with bucket.open("large") as file, open(path, "rb") as local:
    assert hashlib.file_digest(file, "sha256").digest() == hashlib.file_digest(local, "sha256").digest()
print(adopted - before, peak() - before)
bucket.delete("large")
bucket.close()
"""


@pytest.mark.slow
def test_adopting_and_reading_a_large_file_takes_little_memory(server, tmp_path: Path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        for _ in range(SIZE >> 20):
            file.write(os.urandom(1 << 20))
    command = [sys.executable, "-c", PROGRAM, BUCKET, server.endpoint, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert max(int(each) for each in done.stdout.split()) < BOUND, done.stdout
