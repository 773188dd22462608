"""A project over a small real web, and the command as a user types it."""

import importlib
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil
import pytest

from tests.storage.conftest import keys, server  # noqa: F401 - fixtures of these tests too
from thresher.isolation import probe_confinement
from thresher.pipeline.engine.local.worker_pool import LocalWorkerPool, local_worker_pool

ROOT = Path(__file__).resolve().parents[2]
TOML = """
[project]
contact = "mailto:test@example.org"
[crawler]
min_delay = 0.0
allow_networks = ["127.0.0.0/8"]
[filters]
preset = "gopher"
languages = ["en", "de", "fr", "es"]
"""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def line(self):
        """The one line of an error."""
        assert "Traceback" not in self.err, self.err
        lines = [line for line in self.err.splitlines() if line.startswith("thresher: ")]
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a project directory and a shell."""

    directory: Path

    def command(self, *words):
        return [sys.executable, "-m", "thresher", *map(str, words)]

    @property
    def environment(self):
        return {**os.environ, "THRESHER_PROJECT": str(self.directory), "PYTHONPATH": str(ROOT)}

    def run(self, *words, code=0, text=None, timeout=900):
        done = subprocess.run(
            self.command(*words),
            env=self.environment,
            cwd=self.directory,
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def start(self, *words):
        log = (self.directory / "killed.log").open("a")
        return subprocess.Popen(
            self.command(*words),
            env=self.environment,
            cwd=self.directory,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


_warm_pools: list[LocalWorkerPool] = []
"""The pool of all calling users of this test process, once one of them has made a part."""


@contextmanager
def warm_worker_pool(
    workers: int, sharers: int = 1, before_first: Callable[[], object] | None = None
) -> Iterator[LocalWorkerPool]:
    """Yield a pool whose worker process has its imports from the commands before; after an error it is not used again."""
    if (workers, sharers) != (1, 1):
        with local_worker_pool(workers, sharers, before_first) as pool:
            yield pool
        return
    if before_first is not None:
        before_first()
    pool = _warm_pools.pop() if _warm_pools else LocalWorkerPool(1)
    try:
        yield pool
    except BaseException:
        pool.close()
        raise
    _warm_pools.append(pool)


probe_once = cache(probe_confinement)


class CallingUser(User):
    """A user whose commands run in the process of the test. That takes a tenth of the time of a process, which imports
    everything first. So does a worker process, which is why the commands share one that makes their parts, unless the
    project has modules of its own.
    """

    __slots__ = ()

    def run(self, *words, code=0):  # type: ignore[override]
        from thresher.pipeline.commands.app import main

        out, err = io.StringIO(), io.StringIO()
        handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)}
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.directory)
            patch.setattr(sys, "path", [*sys.path])
            # One process for the parts of a step: what is made is the same, and each process imports for half a second.
            patch.setattr(os, "sched_getaffinity", lambda _: {0})
            if not any(self.directory.rglob("*.py")):
                patch.setattr(
                    "thresher.pipeline.engine.local.worker_pool.local_worker_pool", warm_worker_pool
                )
            # The machine stays the same.
            patch.setattr("thresher.isolation.probe_confinement", probe_once)
            patch.setattr("thresher.pipeline.reports.status.probe_confinement", probe_once)
            patch.setenv("THRESHER_PROJECT", str(self.directory))
            patch.setattr(sys, "argv", ["thresher", *map(str, words)])
            patch.setattr(logging.lastResort, "formatter", None)
            with pytest.raises(SystemExit) as ended:
                main()
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        self._forget_modules()
        result = CommandResult(int(ended.value.code or 0), out.getvalue(), err.getvalue())
        assert result.code == code, f"{words}: exit code {result.code}\n{result.out}\n{result.err}"
        return result

    def _forget_modules(self):
        """Remove the project's own modules (spiders, rules): the next command imports them anew."""
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(f"{self.directory}{os.sep}"):
                del sys.modules[name]
        importlib.invalidate_caches()


def kill_tree(process):
    """SIGKILL a command and every process it started, its Redis server included."""
    parent = psutil.Process(process.pid)
    every = [parent, *parent.children(recursive=True)]
    for one in every:
        try:
            one.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    process.wait()
    psutil.wait_procs(every, timeout=10)


def wait_until(condition, process, timeout=120):
    """Poll until the condition holds; True unless the process ended before."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    raise AssertionError("the condition never came true")


@pytest.fixture
def project_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "thresher.toml").write_text(TOML)
    return directory


@pytest.fixture
def user(project_directory: Path) -> User:
    """Each command is a process. Name it where a command is killed, interrupted or watched from outside."""
    return User(project_directory)


@pytest.fixture
def calling_user(project_directory: Path) -> CallingUser:
    """Each command runs in the process of the test; `start` starts a process all the same."""
    return CallingUser(project_directory)
