"""Hypothesis for every test: the same examples each time, and no deadlines, for the machine may be busy.

`make test-slow` tries other examples, and five times as many, with `--hypothesis-profile random`.

Here are the fixtures that folders share and that are expensive: a session has one of each, whoever asks for it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.places.orphans import kill_orphans_at_the_end, remove_directories_of_killed_runs

if TYPE_CHECKING:
    from tests.storage.s3server import Server

pytest_plugins = ["tests.workers"]

settings.register_profile("same", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("random", deadline=None, max_examples=500, print_blob=True)
settings.load_profile("same")

# The tests start hundreds of Python processes, and each would compile our modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Who starts the tests in the background of a shell has them, and every command they start, ignore Ctrl-C.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30


def has_room_in_memory() -> bool:
    """Whether the directories of tests may lie in memory: there is room, and programs may be run there."""
    try:
        found = os.statvfs(MEMORY)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= ROOM_BYTES and not found.f_flag & os.ST_NOEXEC


# Tests make some hundred thousand files and sync most of them: on a disk, those that store much take half as long again.
if has_room_in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

SLOW_TIMEOUT_S = 1_200


def pytest_configure(config: pytest.Config) -> None:
    """See to it that nothing outlives this process, and that what killed runs left in memory goes."""
    if not hasattr(config, "workerinput"):
        remove_directories_of_killed_runs(MEMORY)
    kill_orphans_at_the_end()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector, which would look at some million objects that stay again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a slow test more time: on a machine with other work it may take ten times as long as alone."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_TIMEOUT_S))


def pytest_collection_finish() -> None:
    """Keep the collected tests, some million objects, out of every garbage collection to come, and collect all the others
    seldom: with Python's own thresholds that takes a twentieth of the time of the tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def settings_of_the_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("THRESHER_")}


@pytest.fixture(autouse=True)
def _no_test_leaves_settings() -> Iterator[None]:
    """A command that is invoked in this process with `--project` before its name would pass the project to later tests."""
    before = settings_of_the_environment()
    yield
    assert settings_of_the_environment() == before


@pytest.fixture(scope="session")
def s3_keys() -> Iterator[None]:
    """The keys of the servers that tests start, as the AWS_* variables, and nothing else of their kind."""
    from tests.storage.s3server import KEYS

    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            environment.delenv(name)
        for name, value in {**KEYS, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": os.devnull}.items():
            environment.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def s3_server(s3_keys: None, pytestconfig: pytest.Config) -> Server:
    """The S3 server of all test processes: started when the first test asks for it, killed at the end."""
    from tests.workers import shared

    server: Server = shared(pytestconfig, "tests.storage.s3server:launched_server")
    server.wait_until_it_takes_writes()
    return server
