"""Who uses a name is known to every process of the machine, with one open file whatever the number of names."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from thresher.shards.loader.access.use_locks import UseLocks

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys, time
from pathlib import Path
from thresher.shards.loader.access.use_locks import UseLocks
locks = UseLocks(Path(sys.argv[1]))
locks.hold("a")
print("held", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def two(tmp_path):
    return UseLocks(tmp_path / "lock"), UseLocks(tmp_path / "lock")


def is_unused(locks, name):
    with locks.unused(name) as found:
        return found


def test_a_name_is_unused_after_as_many_releases_as_holds(two):
    one, other = two
    one.hold("a")
    one.hold("a")
    one.release("a")
    assert (is_unused(one, "a"), is_unused(other, "a")) == (False, False)
    assert is_unused(other, "b")
    one.release("a")
    assert (is_unused(one, "a"), is_unused(other, "a")) == (True, True)


def test_several_may_use_a_name(two):
    one, other = two
    one.hold("a")
    other.hold("a")
    one.release("a")
    assert not is_unused(one, "a")
    other.close()
    assert is_unused(one, "a")


def test_thousands_of_names_take_one_open_file(two):
    one, other = two
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for number in range(3000):
        one.hold(str(number))
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
    assert not any(is_unused(other, str(number)) for number in range(3000))
    one.close()
    assert all(is_unused(other, str(number)) for number in range(3000))


def test_a_killed_process_uses_nothing(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "lock"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"  # type: ignore[union-attr]
    locks = UseLocks(tmp_path / "lock")
    assert not is_unused(locks, "a")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert is_unused(locks, "a")


def test_a_fork_does_not_keep_what_its_parent_lets_go(two):
    one, other = two
    one.hold("a")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    try:
        assert not is_unused(other, "a")
        one.release("a")
        assert is_unused(other, "a")
        one.hold("b")
        one.close()
        assert is_unused(other, "b")
    finally:
        os.close(writing)
        os.waitpid(child, 0)
