"""Work functions of a step for tests of engines. They are light to import, because every worker process imports them.

They run in confined processes, which leave no trace of their own. So they read names of objects that do not exist, and
`RecordingStore`, which lives in the parent process, records each read.
"""

import ctypes
import hashlib
import io
import logging
import os
import resource
import signal
import stat
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from thresher.core import CorruptData, InputError, Unavailable
from thresher.pipeline.engine import messages
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import PartOutputs
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input

STEP = Step(name="double", version=1, recipe={"factor": 2})
ITEMS = 5
"""Items of a part."""
NOTES = ("made.log", "pids/", "once")
"""Begin the names of what is no output."""


class RecordingStore(DirectoryStore):
    """A directory where some names are no objects. To read `made/NAME` notes the part, and the process that gives it its objects.
    A name that begins with `once` has content from the second time on; `kill` ends that process; `gone` is what no storage answers;
    `three` is answered once three processes have a part.
    """

    __slots__ = ()

    def open(self, name):
        kind, _, rest = name.partition("/")
        match kind:
            case "made":
                self.root.mkdir(exist_ok=True)
                with (self.root / "made.log").open("a") as log:
                    log.write(f"{rest}\n")
                (self.root / "pids").mkdir(exist_ok=True)
                (self.root / "pids" / str(os.getpid())).touch()
                return io.BufferedReader(io.BytesIO())
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "gone":
                raise Unavailable("the storage does not answer")
            case "three":
                while len(list(self.list("pids/"))) < 3:
                    time.sleep(0.05)
                return io.BufferedReader(io.BytesIO())
            case once if once.startswith("once"):
                try:
                    (self.root / once).touch(exist_ok=False)
                except FileExistsError:
                    return io.BufferedReader(io.BytesIO(b"again"))
                return io.BufferedReader(io.BytesIO())
        return super().open(name)


def parts(count):
    return [
        Part(
            name=f"main/part-{n}",
            inputs=(Input(name=f"in/{n}", sha256=f"{n:064d}"),),
            parameters=n,
            reads=(f"made/main/part-{n}", "kill", "gone", "three", "once", "once-a", "once-b"),
            writes=(f"doubled/main/part-{n}.txt",),
        )
        for n in range(count)
    ]


def is_first(store, name="once"):
    """Whether nobody has asked that before."""
    return not store.read(name)


def double(store, step, part, watch):
    """Makes one small output of five items, and has it noted."""
    store.read(part.reads[0])
    lines = []
    for item in range(ITEMS):
        watch.start_item(item)
        lines.append(
            "left out" if item in watch.crashing_items else str(part.parameters * step.recipe["factor"])
        )
    text = "\n".join(lines).encode()
    return PartOutputs(
        counts={"in": ITEMS}, outputs=(store.write(part.writes[0], 1, lambda file: file.write(text)),)
    )


def segfault():
    """What a native parser does."""
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    ctypes.string_at(0)


def segfault_at_two_items(store, step, part, watch):
    for item in (1, 3):
        if part.parameters == 1 and item not in watch.crashing_items:
            watch.start_item(item)
            segfault()
    return double(store, step, part, watch)


def never_end(store, step, part, watch):
    """The second item keeps a native function busy for ever, as it seems."""
    watch.start_item(1)
    if 2 not in watch.crashing_items:
        watch.start_item(2)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
    return double(store, step, part, watch)


def never_move(store, step, part, watch):
    """It waits for nothing."""
    watch.start_item(2)
    time.sleep(600)


def never_finish(store, step, part, watch):
    """Begins a message to the parent, as a page may make it do, and says no more."""
    watch.start_item(2)
    os.write(_pipe(), b"\0\0\1\0")
    time.sleep(600)


def never_read(store, step, part, watch):
    """Asks for more than a pipe holds, again and again, and reads no answer."""
    watch.start_item(2)
    ask = messages.encode(messages.ReadObject(name=part.reads[0], at=0, length=1))
    connection = Connection(os.dup(_pipe()))
    while True:
        connection.send_bytes(ask)


def _pipe():
    """The descriptor of the pipe to the parent: the one socket that there is."""
    (number,) = (number for number in range(3, 64) if _is_socket(number))
    return number


def _is_socket(number):
    with suppress(OSError):
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    return False


def steady(store, step, part, watch):
    """One and a half CPU seconds, none of its items more than a third of one."""
    for item in range(6):
        watch.start_item(item)
        begun = time.process_time()
        while time.process_time() < begun + 0.25:
            pass
    return double(store, step, part, watch)


def refuse(store, step, part, watch):
    """Fails as a step fails."""
    if part.parameters == 1:
        raise CorruptData(f"{part.name}: cannot be read")
    return double(store, step, part, watch)


def no_storage(store, step, part, watch):
    """Meets what every part would."""
    store.read("gone")


def warn(store, step, part, watch):
    """Says something of the pages, with their words."""
    logging.getLogger("a.reader").warning("in/0, record at byte %d: of \x1b[31m%s", 7, "POISON")
    return double(store, step, part, watch)


def flood(store, step, part, watch):
    """Says more than anybody reads."""
    for number in range(1000):
        logging.getLogger("a.reader").warning("%d %s", number, "x" * 10_000)
    return double(store, step, part, watch)


def slow(store, step, part, watch):
    """Half a second."""
    made = double(store, step, part, watch)
    time.sleep(0.5)
    return made


def with_two_others(store, step, part, watch):
    """Waits, but for the first four parts, until three processes have a part."""
    made = double(store, step, part, watch)
    if part.parameters >= 4:
        store.read("three")
    return made


def long(store, step, part, watch):
    time.sleep(3)
    return double(store, step, part, watch)


def kill_cell(store, step, part, watch):
    if part.parameters == 1 and is_first(store):
        os.kill(os.getpid(), signal.SIGKILL)
    return double(store, step, part, watch)


def kill_actor(store, step, part, watch):
    if part.parameters == 1 and is_first(store):
        watch.start_item(2)
        store.read("kill")
    return double(store, step, part, watch)


def limit(store, step, part, watch):
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] >= step.memory
    return double(store, step, part, watch)


class UnsharedStore(RecordingStore):
    """A directory that another machine has too, but not the same one."""

    __slots__ = ()

    def __reduce__(self):
        return RecordingStore, (self.root / "elsewhere",)


def wait_for_sigterm(ready, complaint):
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    ready.touch()
    while not told:
        time.sleep(0.05)


def report_error(complaint):
    complaint.send_error(Unavailable("the disk is full"))


def want_chromium(complaint):
    complaint.send_error(InputError("crawler.render needs Chromium and none is found"))


def exit_with_7(complaint):
    os._exit(7)


def serve_never(*_):
    time.sleep(60)


def serve_badly(*_):
    os._exit(7)


def use_own_rights(store, step, part, _):
    """Is the user's own code: writes a file, starts a thread, prints, and writes what it sees of the GPUs."""
    place = Path(part.parameters)
    thread = threading.Thread(target=place.write_text, args=("written",))
    thread.start()
    thread.join()
    print("printed")  # noqa: T201 - as a user's code may
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").encode()
    output = store.write(part.writes[0], 1, lambda file: file.write(seen))
    return PartOutputs(counts={}, outputs=(output,))


def find_nothing(*_):
    """Is the user's own code: nothing that it needs is there."""
    raise InputError("no weights here")
