"""Works of a step for tests of engines: light to import, for every cell does."""

import ctypes
import hashlib
import os
import resource
import signal
import time

from core import CorruptData, InputError, Unavailable
from pipeline.step import Part, Step
from pipeline.work import Made
from storage.files import Files
from storage.manifest import Input, put_output

STEP = Step(name="double", version=1, recipe={"factor": 2})
ITEMS = 5
"""Items of a part."""


def parts(count):
    return [
        Part(name=f"main/part-{n}", inputs=(Input(name=f"in/{n}", sha256=f"{n:064d}"),), task=n)
        for n in range(count)
    ]


def double(store, step, part, watch):
    """Makes one small output of five items, and notes its process."""
    store.put(f"pids/{part.task}-{os.getpid()}", str(os.getpid()).encode())
    lines = ["left out" if item in watch.crashed else str(part.task * 2) for item in range(ITEMS)]
    name, text = f"doubled/{part.name}.txt", "\n".join(lines)
    return Made(
        counts={"in": ITEMS}, outputs=(put_output(store, name, 1, lambda path: path.write_text(text)),)
    )


def segfault_at_two_items(store, step, part, watch):
    for item in (1, 3):
        if part.task == 1 and item not in watch.crashed:
            watch.at(item)
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            ctypes.string_at(0)
    return double(store, step, part, watch)


def never_end(store, step, part, watch):
    """The second item keeps a native function busy for ever, as it seems."""
    watch.at(1)
    if 2 not in watch.crashed:
        watch.at(2)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
    return double(store, step, part, watch)


def steady(store, step, part, watch):
    """Three CPU seconds, none of its items more than a third of one."""
    for item in range(12):
        watch.at(item)
        begun = time.process_time()
        while time.process_time() < begun + 0.25:
            pass
    return double(store, step, part, watch)


def refuse(store, step, part, watch):
    if part.task == 1:
        raise CorruptData(f"{part.name}: cannot be read")
    return double(store, step, part, watch)


def no_storage(store, step, part, watch):
    raise Unavailable("the storage does not answer")


def slow(store, step, part, watch):
    """Half a second."""
    made = double(store, step, part, watch)
    time.sleep(0.5)
    return made


def long(store, step, part, watch):
    time.sleep(3)
    return double(store, step, part, watch)


def kill_cell(store, step, part, watch):
    if part.task == 1 and store.put("once", b""):
        os.kill(os.getpid(), signal.SIGKILL)
    return double(store, step, part, watch)


def kill_actor(store, step, part, watch):
    if part.task == 1 and store.put("once", b""):
        watch.at(2)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(20)
    return double(store, step, part, watch)


def limit(store, step, part, watch):
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] >= step.memory
    return double(store, step, part, watch)


class Elsewhere(Files):
    """A directory that another machine has too, but not the same one."""

    __slots__ = ()

    def __reduce__(self):
        return Files, (self.root / "elsewhere",)


def wait_for_sigterm(ready, complaint):
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    ready.touch()
    while not told:
        time.sleep(0.05)


def complain(complaint):
    complaint.send(Unavailable("the disk is full"))


def want_chromium(complaint):
    complaint.send(InputError("crawler.render needs Chromium and none is found"))


def exit_with_7(complaint):
    os._exit(7)


def serve_never(*_):
    time.sleep(60)


def serve_badly(*_):
    os._exit(7)
