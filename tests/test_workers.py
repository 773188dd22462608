"""Tests that run in forked workers (`tests.workers`) are reported as if one process ran them."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT

import pytest

FIRST = """
import os, signal, pytest

@pytest.fixture(scope="module")
def opened():
    yield
    with open("torn", "a") as torn: torn.write("torn down\\n")

def test_passes(opened, tmp_path): assert tmp_path.is_dir()
def test_fails(opened): print("what it printed"); assert 1 == 2
def test_dies(opened): os.kill(os.getpid(), signal.SIGKILL)
def test_goes_on(opened, capfd): print("x"); assert capfd.readouterr().out == "x\\n"
"""
SECOND = """
import os, time, warnings, pytest

@pytest.fixture(scope="session")
def of_all(pytestconfig):
    from tests.workers import shared
    return shared(pytestconfig, "tests.test_workers:made_once")

def test_is_made_by_the_main_process(of_all): assert of_all == os.getppid()
def test_warns(): warnings.warn("a warning", ResourceWarning)
@pytest.mark.skip
def test_skips(): pass
"""
LEAVES = """
import multiprocessing, os, signal, time

def test_leaves_a_process_that_is_stopped():
    left = multiprocessing.get_context("fork").Process(target=time.sleep, args=(300,))
    left.start()
    os.kill(left.pid, signal.SIGSTOP)
"""
WAITS = """
import pathlib, pytest, time

@pytest.fixture(scope="session")
def opened():
    pathlib.Path(__file__).with_suffix(".up").touch()
    yield
    pathlib.Path(__file__).with_suffix(".down").touch()

def test_waits(opened): time.sleep(300)
"""


@contextmanager
def made_once(directories):
    assert directories.mktemp("made").is_dir()
    yield os.getpid()
    with Path("torn").open("a") as torn:
        torn.write("ended once\n")


def command(folder: Path, **files: str) -> list[str]:
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = default::ResourceWarning\n")
    return [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:asyncio",
        "-p",
        "no:xdist",
        "-p",
        "tests.workers",
        "-n",
        "2",
        "-q",
        ".",
    ]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


@pytest.mark.timeout(60)
def test_every_test_has_its_report_and_a_dead_worker_costs_one_test(tmp_path):
    ran = subprocess.run(
        command(tmp_path, first=FIRST, second=SECOND, third=SECOND, fourth=LEAVES),
        cwd=tmp_path,
        check=False,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert "2 failed, 7 passed, 2 skipped, 2 warnings" in ran.stdout
    assert "test_dies: its process ended (signal SIGKILL)" in ran.stdout
    assert "what it printed" in ran.stdout
    assert ran.returncode == 1
    assert (tmp_path / "torn").read_text() == "torn down\nended once\n"


@pytest.mark.timeout(60)
def test_ctrl_c_tears_down_what_every_worker_has_set_up(tmp_path):
    run = subprocess.Popen(
        command(tmp_path, first=WAITS, second=WAITS),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    while len(list(tmp_path.glob("*.up"))) < 2:
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(SIGINT)
    assert "KeyboardInterrupt" in run.communicate()[0]
    assert run.returncode == 2
    assert len(list(tmp_path.glob("*.down"))) == 2
