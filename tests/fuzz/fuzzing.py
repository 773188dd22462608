"""Mutation with a seed: the same seed makes the same inputs, on any machine."""

import hashlib
import random
import resource
import tarfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from tests.attacks import TooLongError, cpu_limit
from tests.fuzz.readers import Reader
from tests.shared import read_tar_file

CORPUS = Path(__file__).parent / "corpus"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
MAX_SAMPLE_LENGTH = 64 << 10
LONGEST = 256 << 10
"""Bytes of an input: what is quadratic shows with that."""
FREE_S = 0.6
"""CPU seconds that any input may take."""
MAX_GROWTH_BYTES = 400 << 20
"""Bytes by which an input may make the process grow."""
NUMBERS = (
    b"0",
    b"-1",
    b"9" * 4_301,
    b"99999999999999999999",
    b"2147483648",
    b"1e999",
    "\u0663".encode(),
    "\xb2".encode(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An input that a reader does not stand."""

    reader: str
    data: bytes
    what: str

    @property
    def name(self) -> str:
        """Of its file in the corpus."""
        return hashlib.sha256(self.data).hexdigest()[:16]


def samples(reader: Reader, most: int = 60) -> list[bytes]:
    """The reader's own, and some real ones where the shared material is at hand."""
    found = list(reader.samples)
    for name in reader.shared:
        if (DATA / name).exists():
            found += [
                each[:MAX_SAMPLE_LENGTH] for _, each in zip(range(most), _members(DATA / name), strict=False)
            ]
    return found


def _members(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        packed = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=packed, mode="r|") as tar:
            for each in tar:
                if each.isfile() and each.size:
                    yield read_tar_file(tar, each)[:MAX_SAMPLE_LENGTH]


def mutate(chance: random.Random, known: list[bytes], tokens: tuple[bytes, ...]) -> bytes:
    """Another input, of those that are known."""
    data = bytearray(chance.choice(known))
    for _ in range(chance.choice((1, 1, 2, 3, 5, 10))):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((1, 2, 8, 50, 400)))
        match chance.randrange(9):
            case 0:
                if data:
                    data[at % len(data)] ^= 1 << chance.randrange(8)
            case 1:
                data[at:at] = chance.choice(tokens)
            case 2:  # what is quadratic shows
                data[at:at] = (data[at:to] or chance.choice(tokens)) * chance.choice((2, 30, 1_000, 20_000))
            case 3:
                data[at:at] = chance.choice(tokens) * chance.choice((5, 300, 10_000, 40_000))
            case 4:
                data[at:at] = (chance.choice(tokens) + chance.choice(tokens)) * chance.choice(
                    (5, 300, 10_000)
                )
            case 5:
                del data[at:to]
            case 6:
                del data[at:]
            case 7:
                other = chance.choice(known)
                begin = chance.randrange(len(other) + 1)
                data[at:to] = other[begin : begin + chance.choice((8, 100, 4_000))]
            case 8:
                data[at:to] = chance.choice(NUMBERS)
        del data[LONGEST:]
    return bytes(data)


def reader_failure(reader: Reader, data: bytes) -> str | None:
    """What is wrong with how a reader takes an input; None where it stands it."""
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = FREE_S + len(data) * reader.us_a_byte / 1e6
    begun = time.process_time()
    try:
        with cpu_limit(2 * seconds):
            reader.read(data)
    except TooLongError:
        return f"{len(data):,} bytes take more than {2 * seconds:.1f} s of CPU"
    except Exception:  # noqa: BLE001 - which is what is looked for
        return traceback.format_exc()
    took = time.process_time() - begun
    if took > seconds:
        return f"{len(data):,} bytes take {took:.1f} s of CPU"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown
    return f"{len(data):,} bytes take {grown >> 10:,} MiB" if grown << 10 > MAX_GROWTH_BYTES else None


def fuzz(
    name: str, reader: Reader, seed: int, *, runs: int = 0, seconds: float = 0.0, real: int = 60
) -> Iterator[Finding | None]:
    """Try so many inputs, or for so many seconds of CPU; yield one `Finding` or None for each."""
    chance, known = random.Random(f"{name} {seed}"), samples(reader, real)
    end, count = time.process_time() + seconds, 0
    while count < runs or time.process_time() < end:
        data = mutate(chance, known, reader.tokens)
        what = reader_failure(reader, data)
        yield None if what is None else Finding(reader=name, data=data, what=what)
        if what is None and len(data) < MAX_SAMPLE_LENGTH and chance.random() < 0.05:
            known = [*known[-400:], data]
        count += 1
