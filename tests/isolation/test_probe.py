"""A probe confines a copy of this process, or a new process if this one has several threads."""

import subprocess
import sys
import threading

from thresher.isolation import probe_confinement

COPIED = """
import os
from thresher.isolation import probe_confinement
from thresher.isolation.worker_process import WorkerProcess
WorkerProcess.__init__ = None  # no new process can be started
before = open("/proc/self/status").read()
print(probe_confinement())
after = open("/proc/self/status").read()
assert [line for line in before.splitlines() if line.startswith(("Uid", "Seccomp", "NoNewPrivs", "Cap"))] == [
    line for line in after.splitlines() if line.startswith(("Uid", "Seccomp", "NoNewPrivs", "Cap"))
]
open(os.devnull, "w").close()
"""


def test_a_process_with_one_thread_confines_a_copy_of_itself_and_stays_as_it_was():
    done = subprocess.run([sys.executable, "-c", COPIED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == repr(probe_confinement())


def test_a_process_with_several_threads_makes_no_copy(monkeypatch):
    monkeypatch.setattr(sys.modules["thresher.isolation.probe"], "_probe_in_fork", None)
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert probe_confinement().user
    finally:
        over.set()
        thread.join()


DYING = """
import os, sys
from thresher.core import Unavailable
from thresher.isolation import probe_confinement

def die():
    os._exit(7)

sys.modules["thresher.isolation.probe"]._confine_and_report = die
try:
    probe_confinement()
except Unavailable as error:
    sys.exit(str(error))
"""


def test_a_copy_that_dies_is_an_error_of_one_line():
    done = subprocess.run([sys.executable, "-c", DYING], capture_output=True, text=True, check=False)
    assert "ended before it could start (exit code 7)" in done.stderr
