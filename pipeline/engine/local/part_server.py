"""`PartServer`: the parent's side of a part that a worker process makes.

1. It reads the inputs of the part for the worker, and nothing else of the storage.
2. It takes outputs of the worker under the names that the part has for them, and under no others. Nobody sees an output
   before the part is made. Then the outputs are put, and the part is sealed.
3. It measures sizes and digests itself and does not trust the worker's.
4. A limited number of the worker's warnings goes to the log, without characters that move a terminal's cursor.
5. An error of the storage is reported to the worker, whose work ends with it. The server keeps the error as it was
   raised.
"""

import hashlib
import io
import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, BinaryIO, Self

from thresher.core import CorruptData, InputError, ThresherError
from thresher.core.unicode14 import is_printable
from thresher.pipeline.engine.messages import (
    CHUNK_BYTES,
    ErrorMessage,
    FinishOutput,
    LogLine,
    ObjectBytes,
    ObjectSize,
    ObjectStamp,
    OpenObject,
    OutputDigest,
    ReadObject,
    ReadSpans,
    Request,
    Response,
    SealPart,
    StampObject,
    WriteOutput,
)
from thresher.pipeline.engine.task import Assignment
from thresher.storage.manifest import Manifest, Output, publish_output, seal
from thresher.storage.store import Staged, Store

LOGGER = logging.getLogger(__name__)
GAP = 256 << 10
"""Bytes between two spans that are read along, because a far storage takes longer for another request."""
OPEN_FILES = 8
MAX_LOG_LINES = 100
"""Lines that one attempt may add to the log."""
MAX_TEXT_CHARACTERS = 4_000
"""Maximum length of a worker's text for people."""


@dataclass(slots=True, kw_only=True)
class _StagedOutput:
    """An unfinished output."""

    staged: Staged
    file: BinaryIO
    bytes: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)


class PartServer:
    """Serves one attempt at one part. Leaving the context deletes everything that was not sealed."""

    def __init__(self, assignment: Assignment, *, most_bytes: int) -> None:
        """`most_bytes` limits an output, which the worker makes in its memory."""
        self._assignment, self._most_bytes = assignment, most_bytes
        self._resources = ExitStack()
        self._open: OrderedDict[str, io.BufferedReader] = OrderedDict()
        self._outputs: dict[str, _StagedOutput] = {}
        self._lines = 0
        self._fault: ThresherError | None = None
        """The last error that the worker was told."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._open.values():
            file.close()
        self._resources.close()

    def respond(self, request: Request) -> Response:
        """Do what the worker asks. Raise `ThresherError` if an output cannot be kept."""
        try:
            return self._respond(request)
        except ThresherError as error:
            return self._error_message(request, error)
        except OSError as error:
            return self._error_message(request, self._storage_error(error))

    def work_error(self, failed: ErrorMessage) -> ThresherError:
        """Return the error of the worker's work. Errors of the storage are the ones that this server has raised,
        because a confined worker cannot tell by itself whether the storage is gone or the user is wrong. The user's own
        code can be wrong for all parts alike (`InputError`).
        """
        if self._fault is not None and str(self._fault) == failed.text:
            return self._fault
        believed: tuple[type[ThresherError], ...] = (CorruptData,)
        if not self._assignment.step.is_confined:
            believed = (CorruptData, InputError)
        kind = next((each for each in believed if each.__name__ == failed.kind), ThresherError)
        return kind(sanitize(failed.text))

    def seal(self, done: SealPart) -> tuple[Output, ...]:
        """Put the outputs, and seal the part. Raise `ThresherError` if that is impossible."""
        try:
            return self._seal(done)
        except OSError as error:
            raise self._storage_error(error) from error

    def _seal(self, done: SealPart) -> tuple[Output, ...]:
        task = self._assignment
        if self._outputs.keys() != task.writes.keys() or not done.rows.keys() <= task.writes.keys():
            raise ThresherError(
                f"{task.name}: its worker made {', '.join(sorted(self._outputs)) or 'nothing'}, "
                f"not {', '.join(sorted(task.writes))}"
            )
        outputs = {}
        for name, output in self._outputs.items():
            output.file.close()
            sha256 = output.sha256.hexdigest()
            publish_output(task.writes[name], output.staged, sha256)
            outputs[name] = Output(name=name, bytes=output.bytes, sha256=sha256, rows=done.rows.get(name, 0))
        sealed = tuple(outputs[name] for name in sorted(done.rows))
        seal(
            task.store,
            Manifest(
                step=str(task.step),
                part=task.name,
                fingerprint=task.fingerprint,
                recipe=task.step.recipe,
                inputs=task.inputs,
                outputs=sealed,
                counts=done.counts,
            ),
        )
        return sealed

    def _error_message(self, request: Request, error: ThresherError) -> Response:
        if isinstance(request, WriteOutput):
            raise error
        self._fault = error
        return ErrorMessage(type(error).__name__, str(error))

    def _storage_error(self, error: OSError) -> ThresherError:
        """Return the error with which the store that stages files reports a failure of the disk."""
        try:
            self._resources.__exit__(type(error), error, error.__traceback__)
        except ThresherError as named:
            return named
        except OSError:
            pass
        return ThresherError(f"{self._assignment.name}: {error}")

    def _respond(self, request: Request) -> Response:
        match request:
            case OpenObject(name=name):
                return ObjectSize(self._file(name).seek(0, io.SEEK_END))
            case StampObject(name=name):
                return ObjectStamp(self._readable_store(name).stamp(name))
            case ReadObject(name=name, at=at, length=length):
                return ObjectBytes(_joined(self._file(name), [(at, length)]))
            case ReadSpans(name=name, spans=spans):
                return ObjectBytes(_joined(self._file(name), spans))
            case FinishOutput(name=name):
                output = self._output(name)
                return OutputDigest(output.bytes, output.sha256.hexdigest())
            case WriteOutput(name=name, data=data):
                self._write(name, data)
            case LogLine(text=text):
                self._log(text)
        return None

    def _readable_store(self, name: str) -> Store:
        if name not in self._assignment.reads:
            raise ThresherError(
                f"{self._assignment.name}: its worker asked for {name!r}, which is none of its inputs"
            )
        return self._assignment.reads[name]

    def _file(self, name: str) -> io.BufferedReader:
        file = self._open.pop(name, None) or self._readable_store(name).open(name)
        self._open[name] = file
        if len(self._open) > OPEN_FILES:
            _, oldest = self._open.popitem(last=False)
            oldest.close()
        return file

    def _write(self, name: str, data: bytes) -> None:
        output = self._output(name)
        output.bytes += len(data)
        if output.bytes > self._most_bytes:
            raise ThresherError(f"{self._assignment.name}: more than {self._most_bytes:,} bytes of {name}")
        output.sha256.update(data)
        output.file.write(data)

    def _log(self, text: str) -> None:
        self._lines += 1
        if self._lines <= MAX_LOG_LINES:
            LOGGER.warning("%s", sanitize(text))
        elif self._lines == MAX_LOG_LINES + 1:
            LOGGER.warning(
                "%s: its worker logs more than %d lines; the others are left out",
                self._assignment.name,
                MAX_LOG_LINES,
            )

    def _output(self, name: str) -> _StagedOutput:
        if name not in self._assignment.writes:
            raise ThresherError(
                f"{self._assignment.name}: its worker made {name!r}, which is none of its outputs"
            )
        if name not in self._outputs:
            staged = self._resources.enter_context(self._assignment.writes[name].stage(name))
            file = self._resources.enter_context(staged.path.open("wb"))
            self._outputs[name] = _StagedOutput(staged=staged, file=file)
        return self._outputs[name]

    def __repr__(self) -> str:
        return f"<server of {self._assignment.name}>"


def sanitize(text: str) -> str:
    """Return a worker's text for people: cut to the limit, without characters that move a terminal's cursor."""
    cut = text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[:MAX_TEXT_CHARACTERS]}..."
    return "".join(each if is_printable(each) or each == "\n" else "\ufffd" for each in cut)


def _joined(file: io.BufferedReader, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the bytes of spans, as many as one message may have."""
    pieces, left = list[bytes](), CHUNK_BYTES
    begin, data = 0, b""
    for number, (at, wanted) in enumerate(spans):
        length = min(wanted, left)
        if not begin <= at <= at + length <= begin + len(data):
            end = at + length
            for next_at, next_length in spans[number + 1 :]:
                if not end <= next_at <= end + GAP or next_at + next_length > at + CHUNK_BYTES:
                    break
                end = next_at + next_length
            file.seek(at)
            begin, data = at, file.read(end - at)
        pieces.append(data[at - begin : at - begin + length])
        left -= len(pieces[-1])
    return b"".join(pieces)
