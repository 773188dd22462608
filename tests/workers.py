"""Run the tests in worker processes that are forked after one collection: `-n 4`, or `-n 0` for none.

A process that has collected the tests has imported all that they import: 15 s of CPU and most of a gigabyte. The workers
share both. The tests of a file run in one worker, in their order, for they share its fixtures. Half of the workers take
the files that took longest in the last run, which wait more than they work, and the others those that took shortest. A
worker that dies fails its test, and another one goes on with the tests behind.

What all workers can share is made once, by the main process, and ends with it (`shared`).
"""

from __future__ import annotations

import atexit
import ctypes
import io
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from importlib import import_module
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, NoReturn

import pytest
from _pytest.capture import CaptureManager
from _pytest.runner import runtestprotocol

from tests.expect import expect
from tests.places.orphans import kill_orphans_at_the_end

SERVERS = "servers of all workers"
"""The name of the plugin that has them: `Servers` in the main process, `Worked` in a worker."""
SECONDS = "workers/seconds_of_files"
"""The name in pytest's cache of what the files took in their last run."""
SECONDS_OF_A_TEST = 0.1
"""What a test may take that has not run yet."""
PR_SET_PDEATHSIG = 1
GROWTH_BYTES = 200 << 20
"""A worker that has grown by so much is replaced behind the file that it runs: so are its browsers and worker pools."""
END_S = 60
"""A worker that is asked to end and has not after this time is killed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("workers")
    group._addoption(
        "-n", dest="workers", type=int, default=0, metavar="N", help="run the tests in N processes"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Servers(config), SERVERS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers, unless a developer wants to debug or few tests are left."""
    config = session.config
    count = min(config.getoption("workers"), len({item.path for item in session.items}))
    if count < 2 or config.option.collectonly or config.option.usepdb or session.testsfailed:
        return None
    Run(session).run(count)
    return True


class Servers:
    """What the main process makes for all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._stack = ExitStack()
        self._made: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """Return what the context manager `name` ("module:function") yields; enter it if nobody has asked yet."""
        if name not in self._made:
            module, _, function = name.partition(":")
            opened: Callable[..., AbstractContextManager[Any]] = getattr(import_module(module), function)
            self._made[name] = self._stack.enter_context(opened(self._config._tmp_path_factory))  # type: ignore[attr-defined]
        return self._made[name]

    def pytest_sessionfinish(self) -> None:
        self._stack.close()


def shared(config: pytest.Config, name: str) -> Any:
    """Return what the context manager `name` ("module:function") yields in the main process, which enters it once, with
    its factory of temporary directories.

    It must return soon, for other workers wait meanwhile: a server that is started, and not one that answers.
    """
    servers = config.pluginmanager.get_plugin(SERVERS)
    assert servers is not None
    return servers.get(name)


class Run:
    """One run, in the main process."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.config = session.config
        self.items = session.items
        self.cache = self.config.cache
        self.last = dict(self.cache.get(SECONDS, {})) if self.cache else {}
        self.seconds: Counter[str] = Counter()
        self.failed_first = self.config.getoption("failedfirst", default=False)
        self.queue = self._files()
        self.workers: list[Worker] = []

    def _files(self) -> list[list[int]]:
        """The indices of the tests of each file; the file that will take longest comes last."""
        files = [list(found) for _, found in groupby(range(len(self.items)), self._file)]
        if not self.failed_first:
            files.sort(key=lambda found: self.last.get(self._file(found[0]), len(found) * SECONDS_OF_A_TEST))
        else:
            files.reverse()
        return files

    def _file(self, index: int) -> str:
        return self.items[index].nodeid.partition("::")[0]

    def run(self, count: int) -> None:
        self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        try:
            for _ in range(count):
                self._start()
            while self.workers and not (self.session.shouldfail or self.session.shouldstop):
                ready = wait([worker.connection for worker in self.workers])
                for worker in [worker for worker in self.workers if worker.connection in ready]:
                    self._hear(worker)
                if self.queue and len(self.workers) < count:
                    self._start()
        finally:
            self._end()
            if self.cache:
                self.cache.set(SECONDS, self.last | self.seconds)
        for stop, error in (
            (self.session.shouldfail, self.session.Failed),
            (self.session.shouldstop, self.session.Interrupted),
        ):
            if stop:
                raise error(stop)

    def _start(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        here, there = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, which numpy's library ends before a fork
            pid = os.fork()
        if pid == 0:
            for other in self.workers:
                other.connection.close()
            here.close()
            work(self.session, there)
        there.close()
        longest = sum(worker.takes_longest for worker in self.workers)
        takes_longest = self.failed_first or 2 * longest <= len(self.workers)
        self.workers.append(Worker(pid, here, takes_longest))

    def _hear(self, worker: Worker) -> None:
        try:
            kind, value = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._lose(worker)
            return
        if kind == "next":
            found = self.queue.pop(-1 if worker.takes_longest else 0) if self.queue else []
            worker.waiting += found
            worker.connection.send(found)
        elif kind == "start":
            worker.current = worker.waiting.pop(0)
        elif kind == "done":
            reports, seconds = value
            assert worker.current is not None
            self.seconds[self._file(worker.current)] += seconds
            worker.current = None
            for data in reports:
                self.config.hook.pytest_runtest_logreport(
                    report=self.config.hook.pytest_report_from_serializable(config=self.config, data=data)
                )
        elif kind == "shared":
            worker.connection.send(answer(lambda: shared(self.config, value)))
        elif kind == "warning":
            message, when, nodeid, location = value
            self.config.hook.pytest_warning_recorded.call_historic(
                kwargs={
                    "warning_message": warnings.WarningMessage(*message),
                    "when": when,
                    "nodeid": nodeid,
                    "location": location,
                }
            )
        elif kind == "end":
            self._remove(worker)
            if value:
                self._fail("what all tests share", ("", None, ""), value, "teardown")

    def _lose(self, worker: Worker) -> None:
        """A worker is dead: its test has failed; another one takes the tests that it had before it."""
        status = self._remove(worker)
        if worker.current is None and not worker.waiting:
            return
        if worker.current is not None:
            item = self.items[worker.current]
            code = os.waitstatus_to_exitcode(status)
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            self.config.hook.pytest_runtest_logreport(
                report=pytest.TestReport(
                    item.nodeid,
                    item.location,
                    {},
                    "failed",
                    f"{item.nodeid}: its process ended ({how})",
                    "call",
                )
            )
        if worker.waiting:
            self.queue.append(worker.waiting)

    def _fail(
        self, name: str, location: tuple[str, int | None, str], text: str, when: Literal["call", "teardown"]
    ) -> None:
        report = pytest.TestReport(name, location, {}, "failed", text, when)
        self.config.hook.pytest_runtest_logreport(report=report)

    def _remove(self, worker: Worker) -> int:
        self.workers.remove(worker)
        worker.connection.close()
        return os.waitpid(worker.pid, 0)[1]

    def _end(self) -> None:
        """Whoever is left, because of Ctrl-C, tears down what its test has set up, and ends."""
        for worker in self.workers:
            os.kill(worker.pid, signal.SIGINT)
        until = time.monotonic() + END_S
        for worker in self.workers:
            while os.waitpid(worker.pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > until:
                    os.kill(worker.pid, signal.SIGKILL)
                while worker.connection.poll(0.1):  # it may wait for room to write
                    with suppress(EOFError, OSError):
                        worker.connection.recv()
                        continue
                    break
        self.workers.clear()


class Worker:
    """One worker, as the main process sees it."""

    def __init__(self, pid: int, connection: Connection, takes_longest: bool) -> None:
        self.pid = pid
        self.connection = connection
        self.takes_longest = takes_longest
        self.waiting: list[int] = []
        self.current: int | None = None


def answer(question: Callable[[], Any]) -> tuple[bool, Any]:
    try:
        return True, question()
    except Exception:  # noqa: BLE001 - it is the worker's
        return False, traceback.format_exc()


class Worked:
    """The plugin of a worker: it sends what the plugins of the main process wait for."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_running = False
        """Before, it hears of the warnings that the main process has seen."""

    def get(self, name: str) -> Any:
        """As `Servers.get`, in the main process."""
        self.connection.send(("shared", name))
        made, value = self.connection.recv()
        if not made:
            raise RuntimeError(value)
        return value

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        before = time.monotonic()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        hook = item.config.hook
        data = [hook.pytest_report_to_serializable(config=item.config, report=report) for report in reports]
        self.connection.send(("done", (data, time.monotonic() - before)))
        return True

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple | None
    ) -> None:
        if self.is_running:
            one = warning_message
            self.connection.send(
                (
                    "warning",
                    ((str(one.message), one.category, one.filename, one.lineno), when, nodeid, location),
                )
            )


def work(session: pytest.Session, connection: Connection) -> NoReturn:
    """Run what the main process sends, and end."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
        kill_orphans_at_the_end()
        become_worker(session, connection)
        failure = run_items(session, connection)
        clear_up(session)
        connection.send(("end", failure))
        code = 0
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        clear_up(session)
    except BaseException:  # noqa: BLE001 - nobody above sees it
        traceback.print_exc(file=sys.__stderr__)
        clear_up(session)
    finally:
        os._exit(code)


def clear_up(session: pytest.Session) -> None:
    """Tear down what is set up, and do what a process does at its end. One that cannot end in time is ended by the kernel."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(END_S)
    with suppress(BaseException):
        session._setupstate.teardown_exact(None)
    with suppress(BaseException):
        save_coverage()
    with suppress(BaseException):
        for child in multiprocessing.active_children():
            child.kill()  # it may be stopped, and Python would wait for it
        atexit._run_exitfuncs()


def become_worker(session: pytest.Session, connection: Connection) -> None:
    config = session.config
    manager = config.pluginmanager
    capture = expect(CaptureManager, manager.get_plugin("capturemanager"))
    capture.stop_global_capturing()  # its files are those of the main process
    capture.start_global_capturing()
    capture.suspend_global_capture()
    reporter = manager.get_plugin("terminalreporter")
    if reporter:
        reporter._tw._file = io.StringIO()
    manager.unregister(name=SERVERS)
    worked = Worked(connection)
    manager.register(worked, SERVERS)
    worked.is_running = True
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = Path(factory.getbasetemp(), f"worker-{os.getpid()}")
    factory._basetemp.mkdir(mode=0o700)
    random.seed()


def run_items(session: pytest.Session, connection: Connection) -> str | None:
    """Run the tests of one file after the other, and tear down what they have set up. Return the traceback of what failed
    in that, when there are no more tests or this process has become large.
    """
    following: Any = BetweenFiles(session)
    before = resident_bytes()
    while True:
        connection.send(("next", None))
        indices = connection.recv()
        for at, index in enumerate(indices, 1):
            connection.send(("start", None))
            item = session.items[index]
            nextitem = session.items[indices[at]] if at < len(indices) else following
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        if not indices or resident_bytes() > before + GROWTH_BYTES:
            break
    try:
        session._setupstate.teardown_exact(None)
    except Exception:  # noqa: BLE001 - reported as every other error
        return traceback.format_exc()
    return None


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class BetweenFiles:
    """What follows the last test of a file: nothing that the test needs but the session, for nobody knows yet."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session

    def listchain(self) -> list[pytest.Session]:
        return [self._session]


def save_coverage() -> None:
    if "coverage" in sys.modules:
        found = sys.modules["coverage"].Coverage.current()
        if found is not None:
            found.stop()
            found.save()
