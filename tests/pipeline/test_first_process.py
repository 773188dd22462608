"""The command as the first process of a container: orphans are reaped, and signals reach the command.

`unshare` makes the process namespace that a container would be.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tests.expect import expect

ROOT = Path(__file__).resolve().parents[2]
UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
MAX_DURATION_S = 60


def _can_unshare():
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not _can_unshare(), reason="this user may not make a process namespace")

ORPHANS = """
    import subprocess, sys, time
    for _ in range(3):  # each shell leaves a child that outlives it
        subprocess.run(["sh", "-c", "sleep 0.2 &"], check=True)
    print("orphans", flush=True)
"""
COMMAND = """
import sys
from thresher.pipeline import first_process

def command():
{body}

sys.exit(first_process.run(command) if first_process.is_first() else command())
"""


def start(body):
    program = COMMAND.replace("{body}", textwrap.indent(textwrap.dedent(body), "    "))
    return subprocess.Popen(
        [*UNSHARE, sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def first_process(unshare):
    """Return the process that has the number 1 in the namespace."""
    (first,) = psutil.Process(unshare.pid).children()
    return first


def wait_for(condition):
    until = time.monotonic() + MAX_DURATION_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_children_that_lost_their_parent_leave_no_zombies():
    process = start(ORPHANS + "    time.sleep(1000)\n")
    try:
        assert process.stdout.readline() == "orphans\n"
        first = first_process(process)
        wait_for(lambda: len(first.children(recursive=True)) == 1)
        (command,) = first.children()
        assert command.status() != psutil.STATUS_ZOMBIE
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command_and_its_exit_code_comes_back(signum):
    process = start(
        f"""
        import signal, time
        def drain(*_):
            print("drained", flush=True)
            sys.exit(7)
        signal.signal({int(signum)}, drain)
        print("ready", flush=True)
        time.sleep(1000)
        """
    )
    assert process.stdout.readline() == "ready\n"
    first_process(process).send_signal(signum)
    assert process.stdout.readline() == "drained\n"
    assert process.wait(timeout=MAX_DURATION_S) == 7


def test_a_command_that_a_signal_killed_ends_with_the_code_that_a_shell_would_give():
    process = start("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert process.wait(timeout=MAX_DURATION_S) == 128 + signal.SIGKILL


def test_thresher_as_first_process_runs_its_command():
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "thresher", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=MAX_DURATION_S,
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "thresher")


def test_sigterm_before_the_command_is_imported_ends_the_container():
    process = subprocess.Popen(
        [*UNSHARE, sys.executable, "-X", "importtime", "-m", "thresher", "--version"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    stderr = expect(io.TextIOWrapper, process.stderr)
    next(
        line for line in stderr if "thresher.pipeline.terminal" in line
    )  # the command's modules are being imported
    first = first_process(process)
    first.send_signal(signal.SIGTERM)
    stderr.read()
    assert process.wait(timeout=MAX_DURATION_S) == 130
