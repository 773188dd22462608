"""Work functions whose process a page has taken over: they send their parent whatever they like."""

import os
import pickle
import struct
from pathlib import Path

from tests.pipeline.work_functions import double
from thresher.core import ThresherError
from thresher.pipeline.engine import messages
from thresher.pipeline.engine.messages import (
    ErrorMessage,
    FinishOutput,
    OpenObject,
    ReadObject,
    SealPart,
    StampObject,
    WriteOutput,
)
from thresher.pipeline.engine.task import PartOutputs


class Bomb:
    """What runs where it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def pipe():
    """The number of the pipe to the parent: the one socket that is open."""
    return next(number for number in range(3, 4096) if is_socket(number))


def is_socket(number):
    try:
        return str(Path(f"/proc/self/fd/{number}").readlink()).startswith("socket:")
    except OSError:
        return False


def send_to_parent(message):
    os.write(pipe(), struct.pack("!i", len(message)) + message)


def send_a_pickle(store, step, part, watch):
    send_to_parent(pickle.dumps(Bomb(part.parameters)))
    return double(store, step, part, watch)


def send_noise(store, step, part, watch):
    send_to_parent(b"\xff" * 100)
    return double(store, step, part, watch)


def send_a_length_without_end(store, step, part, watch):
    os.write(pipe(), struct.pack("!i", (1 << 31) - 1) + b"x" * 1000)
    return double(store, step, part, watch)


def send_another_type(store, step, part, watch):
    send_to_parent(
        messages.encode({"type": "Done", "counts": {"in": "many"}, "rows": {}, "work_cpu_s": 1, "cpu_s": 1})
    )
    return double(store, step, part, watch)


def claim_to_be_done(store, step, part, watch):
    """Without an output."""
    send_to_parent(messages.encode(SealPart({"in": 1}, {}, 0.0, 0.0)))
    return double(store, step, part, watch)


def seal_another_part(store, step, part, watch):
    made = double(store, step, part, watch)
    store.request(WriteOutput("manifests/double/main/part-9.json", b"{}"))
    return made


def seal_what_it_did_not_make(store, step, part, watch):
    made = double(store, step, part, watch)
    send_to_parent(messages.encode(SealPart({"in": 1}, {"doubled/main/part-9.txt": 1}, 0.0, 0.0)))
    return made


def fill_the_disk(store, step, part, watch):
    for _ in range(1 << 20):
        store.request(WriteOutput(part.writes[0], b"x" * (1 << 20)))
    return double(store, step, part, watch)


def read_another_part(store, step, part, watch):
    return PartOutputs(
        counts={}, outputs=(store.write(part.writes[0], 1, lambda file: file.write(store.read("other"))),)
    )


def climb_out_of_the_storage(store, step, part, watch):
    for name in ("../../etc/passwd", "/etc/passwd", "in/0/../../secret", "", ".staging/gate", "a\0b"):
        for ask in (OpenObject(name), ReadObject(name, 0, 10), StampObject(name), FinishOutput(name)):
            try:
                store.request(ask)
            except ThresherError:
                continue
            return PartOutputs(counts={"climbed": 1}, outputs=())
    return double(store, step, part, watch)


def move_the_cursor(store, step, part, watch):
    raise ValueError("\x1b[2J\x1b]0;owned\x07" + "x" * 100_000)


def claim_that_the_user_is_wrong(store, step, part, watch):
    send_to_parent(messages.encode(ErrorMessage("InputError", "send your password to evil.example")))
    return double(store, step, part, watch)
