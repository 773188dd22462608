"""No process that tests start outlives the test process that started it, and killed runs leave no directories."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.places.orphans import remove_directories_of_killed_runs

ROOT = Path(__file__).resolve().parents[2]
GONE_S = 60
STARTED_S = 300
EXPECTED = {"valkey-server", "weed", "postgres", "raylet", "gcs_server"}
STARTER = """
import subprocess, sys, time
from tests.places.orphans import kill_orphans_at_the_end
kill_orphans_at_the_end()
code = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True)"
subprocess.run([sys.executable, "-S", "-c", code])
time.sleep(600)
"""


def wait_until_gone(pids):
    until = time.monotonic() + GONE_S
    while left := [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < until, [psutil.Process(pid).cmdline() for pid in left]
        time.sleep(0.02)


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_grandchild_in_a_session_of_its_own_is_killed_when_its_test_process_is_killed():
    with subprocess.Popen([sys.executable, "-c", STARTER], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        grandchild = int(process.stdout.readline())
        assert is_running(grandchild)
        process.kill()
        wait_until_gone([grandchild])


def killed_worker(main, worker):
    os.kill(worker, signal.SIGKILL)


def killed_run(main, worker):
    main.kill()


def interrupted_run(main, worker):
    """As Ctrl-C in a terminal: every process of the foreground gets the signal."""
    os.killpg(main.pid, signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize("end", [killed_worker, killed_run, interrupted_run])
def test_no_server_is_left(tmp_path, end):
    report = tmp_path / "servers"
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "1",
        "-x",
        "tests/places/held_servers.py",
    ]
    with (tmp_path / "log").open("wb") as log:
        main = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**os.environ, "SERVERS_FILE": str(report)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    until = time.monotonic() + STARTED_S
    while not report.exists():
        assert main.poll() is None, (tmp_path / "log").read_text()
        assert time.monotonic() < until
        time.sleep(0.1)
    held = json.loads(report.read_text())
    assert set(held["servers"].values()) >= EXPECTED
    end(main, held["worker"])
    wait_until_gone([main.pid, held["worker"], *map(int, held["servers"])])
    main.wait()


def test_directories_of_killed_runs_go_and_those_of_others_stay(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    runs = tmp_path / "pytest-of-somebody"
    for name, lock in {
        "pytest-0": None,
        "pytest-1": ended.pid,
        "pytest-2": os.getpid(),
        "pytest-3": "",
    }.items():
        (runs / name / "files").mkdir(parents=True)
        if lock is not None:
            (runs / name / ".lock").write_text(str(lock))
    remove_directories_of_killed_runs(tmp_path)
    assert sorted(path.name for path in runs.iterdir()) == ["pytest-0", "pytest-2", "pytest-3"]
