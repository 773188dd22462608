"""What is made again from the same inputs has the same bytes, whatever process makes it."""

import random
import subprocess
import sys
import zlib
from hashlib import sha256
from pathlib import Path

from thresher.storage.warc.compression import gzip_member


def records(count=20_000):
    """Short texts of few words, in which a compressor finds much that was there before."""
    draw = random.Random(5)
    words = [bytes(draw.choices(b"abcdefghij", k=draw.randint(2, 9))) for _ in range(300)]
    return [
        b" ".join(draw.choices(words, k=draw.choice((5, 10, 30, 60, 100, 150, 200)))) for _ in range(count)
    ]


def digest():
    """Of the members of all records."""
    return sha256(b"".join(map(gzip_member, records()))).hexdigest()


def test_a_member_is_gzip_of_the_record():
    for record in (b"", b"x", *records(100)):
        assert zlib.decompress(gzip_member(record), wbits=31) == record


def test_the_same_record_gives_the_same_member_in_every_process():
    command = [
        sys.executable,
        "-c",
        "from tests.storage.warc.test_compression import digest; print(digest())",
    ]
    root = Path(__file__).parents[3]
    found = [
        subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(3)
    ]
    assert found == [digest()] * 3
