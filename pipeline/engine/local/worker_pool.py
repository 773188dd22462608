"""`Crew`: the hands that make parts. Here the crew of one machine; `pipeline.engine.ray.ray_pool` has that of a Ray cluster.

A crew knows nothing of attempts or seals: it takes tasks and says how each ended. What follows from that is decided
in one place, by the engine, for all crews alike.
"""

import os
import queue
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from core import ThresherError, Unavailable
from pipeline.engine.local.part_process import Cell
from pipeline.engine.task import Ended, Raised, Task


class Crew(Protocol):
    """Takes tasks, and gives back how they ended, in any order."""

    @property
    def hands(self) -> int:
        """How many tasks can be under way at a time, now. At least 1."""
        ...

    def begin(self, task: Task) -> None:
        """Take a task; it waits where all hands are busy."""
        ...

    def ended(self) -> tuple[Task, Ended]:
        """Wait until some task that was begun has ended."""
        ...


class LocalCrew:
    """Worker processes of this machine, one for each hand, each with the same share of its memory. What a step says
    that it needs (`Step.memory`) changes nothing here: there is no other machine to make it on.
    """

    def __init__(self, hands: int) -> None:
        self.hands = hands
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[tuple[Task, Ended]] = queue.SimpleQueue()
        share = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // hands
        self._cells = [Cell(memory=share) for _ in range(hands)]
        self._threads = [
            threading.Thread(target=self._work, args=(cell,), daemon=True) for cell in self._cells
        ]
        self._begun = 0
        self._closing = False

    def begin(self, task: Task) -> None:
        """Take a task. The threads are begun with the first tasks, their processes by them."""
        if self._begun < self.hands:
            self._threads[self._begun].start()
            self._begun += 1
        self._tasks.put(task)

    def ended(self) -> tuple[Task, Ended]:
        """Wait until some task has ended."""
        return self._ended.get()

    def close(self) -> None:
        """End all processes, at once: what was being made is made again some day."""
        self._closing = True
        for _ in self._threads[: self._begun]:
            self._tasks.put(None)
        for cell in self._cells:
            cell.kill()
        for thread in self._threads[: self._begun]:
            thread.join()

    def _work(self, cell: Cell) -> None:
        try:
            while (task := self._tasks.get()) is not None and not self._closing:
                try:
                    ended = cell.make(task.assignment())
                except ThresherError as error:
                    ended = Raised(error=error, detail="")
                except Exception as error:  # noqa: BLE001 - whoever waits for the end of the task must have one
                    fault = Unavailable(f"no worker can be begun: {type(error).__name__}: {error}")
                    ended = Raised(error=fault, detail=traceback.format_exc())
                self._ended.put((task, ended))
        finally:
            cell.close()

    def __repr__(self) -> str:
        return f"<crew of {self.hands} on this machine>"


@contextmanager
def local_crew(hands: int) -> Iterator[LocalCrew]:
    """A crew for the time of the context."""
    crew = LocalCrew(hands)
    try:
        yield crew
    finally:
        crew.close()
