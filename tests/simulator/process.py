"""`Process`: an event loop, and threads, of which the world calls one callback at a time.

1. Each has an event loop of its own, whose clock is the machine's. It calls what is ready in the order in which that became
   ready, as asyncio promises; chance decides when that is, and which process goes on next.
2. What it does in threads (`asyncio.to_thread`, an executor) runs in a greenlet that stops wherever it touches storage
   (`Process.stop`): the event loop and all others go on meanwhile, and it may be killed there.
3. Who is killed runs no further line: no `finally`, no handler, until the run is over. What it has sent is on its way.
4. Who sleeps (its machine is suspended) or is paused (SIGSTOP) runs nothing until it wakes, and then everything that came
   due at once. CLOCK_MONOTONIC stands while a machine sleeps; CLOCK_BOOTTIME does not.
"""

import asyncio
import contextvars
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import greenlet

from tests.simulator.world import EPOCH_MS, FOREVER, World

_TURN_S = 0.00005
"""How long a callback takes at most, but for what `World.random` adds now and then."""


class Killed(BaseException):
    """Raised in what is left of a process when its run is over."""


@dataclass(eq=False, slots=True, kw_only=True)
class Machine:
    """What its processes share: clocks."""

    name: str
    slept_s: float = 0.0
    """For how long it has been suspended, in all."""
    skew_ms: int = 0
    """By how much its wall clock is wrong."""
    lives: int = 0


class Process(asyncio.AbstractEventLoop):
    """One process; also its event loop."""

    def __init__(self, world: World, machine: Machine, name: str) -> None:
        self.world, self.machine, self.name = world, machine, name
        self.is_dead = False
        self.frozen_until = 0.0
        self.signals: dict[int, Callable[..., Any]] = {}
        self.main: asyncio.Task[Any] | None = None
        self.ended_at = FOREVER
        self._free_at = 0.0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._resumed: list[tuple[float, int, greenlet.greenlet]] = []
        self._number = count()
        self._tasks: list[asyncio.Task[Any]] = []
        self._threads: dict[
            greenlet.greenlet, None
        ] = {}  # in order: that of a set is that of addresses in memory
        world.processes.append(self)
        world.living.append(self)

    # What the world does

    def start(self, main: Coroutine[Any, Any, Any]) -> None:
        """Begin."""
        self.main = self.create_task(main)
        self.main.add_done_callback(lambda _: self.kill())  # what it left running ends with it

    @property
    def has_exited(self) -> bool:
        """Whether there is no such process any more."""
        return self.is_dead

    def kill(self) -> None:
        """SIGKILL."""
        if not self.is_dead:
            self.is_dead, self.ended_at = True, self.world.now
            self.world.living.remove(self)

    def freeze(self, seconds: float) -> None:
        """Stand still for so long, from now."""
        self.frozen_until = max(self.frozen_until, self.world.now + seconds)

    def signal(self, number: int) -> None:
        """Send a signal. The second one that it handles is its end (`os._exit`), as any is that it does not handle yet."""
        handler = self.signals.pop(number, None)
        if handler is None:
            self.kill()
        else:
            self.call_soon(handler)

    def due(self) -> float:
        """When it does something next."""
        now = self.world.now
        if self._ready:
            at = now
        else:
            while self._timers and self._timers[0][2].cancelled():
                heapq.heappop(self._timers)
            at = self._timers[0][0] + self.machine.slept_s if self._timers else FOREVER
        if self._resumed:
            at = min(at, self._resumed[0][0])
        return max(at, self._free_at, self.frozen_until, now) if at < FOREVER else FOREVER

    def step(self) -> None:
        """Run what is due first."""
        world = self.world
        is_due = self._resumed and self._resumed[0][0] <= world.now
        if is_due and (not self._ready or world.random.random() < 0.5):
            self._switch(heapq.heappop(self._resumed)[2])
            return
        now = self.time()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if not timer.cancelled():
                self._ready.append(timer)
        while self._ready:
            handle = self._ready.popleft()
            if not handle.cancelled():
                self._call(handle)
                break
        slow = world.random.random()
        self._free_at = world.now + (_TURN_S * slow if slow < 0.999 else 0.2 * world.random.random())

    def discard(self) -> None:
        """Let go of what a run has left of it."""
        self.is_dead = True
        for thread in [each for each in self._threads if not each.dead]:
            with suppress(BaseException):
                thread.throw(Killed())
        for task in self._tasks:
            if not task.done():
                with suppress(BaseException):
                    task.get_coro().close()
        self._ready.clear()
        self._timers.clear()

    def _call(self, handle: asyncio.Handle) -> None:
        events._set_running_loop(self)
        try:
            handle._run()
        finally:
            events._set_running_loop(None)

    # Clocks

    def time(self) -> float:
        """CLOCK_MONOTONIC, by which asyncio goes."""
        return self.world.now - self.machine.slept_s

    def boottime(self) -> float:
        """CLOCK_BOOTTIME."""
        return self.world.now

    def wall_ms(self) -> int:
        """CLOCK_REALTIME."""
        return EPOCH_MS + round(self.world.now * 1000) + self.machine.skew_ms

    # Threads

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Run it in a thread."""
        answer = self.create_future()

        def run() -> None:
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - who waits for the thread raises it
                self.call_soon(_fail, answer, error)
            else:
                self.call_soon(_succeed, answer, result)

        thread = greenlet.greenlet(run)
        self._threads[thread] = None
        self._resume(thread, self.world.latency() / 8)
        return answer

    def stop(self) -> None:
        """In a thread: let others go on for a moment, or for ever where the process is dead. Elsewhere nothing may be waited for."""
        thread = greenlet.getcurrent()
        if thread in self._threads:
            if not self.is_dead:
                self._resume(thread, self.world.latency() / 2)
            thread.parent.switch()
        if self.is_dead:
            raise Killed

    def _resume(self, thread: greenlet.greenlet, seconds: float) -> None:
        heapq.heappush(self._resumed, (self.world.now + seconds, next(self._number), thread))

    def _switch(self, thread: greenlet.greenlet) -> None:
        thread.parent = greenlet.getcurrent()
        thread.switch()
        if thread.dead:
            self._threads.pop(thread, None)

    # asyncio

    def call_soon(self, callback, *args, context=None):  # type: ignore[override]
        handle = asyncio.Handle(callback, args, self, context)
        if not self.is_dead:
            self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(self, delay, callback, *args, context=None):  # type: ignore[override]
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):  # type: ignore[override]
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._number), timer))
        return timer

    def create_future(self):
        return asyncio.Future(loop=self)

    def create_task(self, coro, *, name=None, context=None):
        task = asyncio.Task(coro, loop=self, name=name, context=context or contextvars.copy_context())
        self._tasks.append(task)
        if len(self._tasks) > 256:
            self._tasks = [each for each in self._tasks if not each.done()]
        return task

    def add_signal_handler(self, sig, callback, *args):  # type: ignore[override]
        self.signals[sig] = callback

    def call_exception_handler(self, context):
        """What nobody waits for goes unheard, as on a terminal; a run looks at what its commands end with."""
        if not self.is_dead and "exception" in context:
            self.world.note(self.name, f"unheard {context['exception']!r}")

    def default_exception_handler(self, context):
        self.call_exception_handler(context)

    def get_debug(self):
        return False

    def is_running(self):
        return not self.is_dead

    def is_closed(self):
        return self.is_dead

    def _timer_handle_cancelled(self, handle):
        """Required by `asyncio.TimerHandle`; cancelled timers are passed over when they are due."""

    def __repr__(self) -> str:
        return f"<process {self.name}>"


Trap = list[Any]
"""After how many times something befalls a process, and what: `[times, what(process)]`."""


def run_traps(traps: list[Trap], process: Process) -> None:
    """It happens once more: spring the traps that are due."""
    for trap in list(traps):
        trap[0] -= 1
        if not trap[0]:
            traps.remove(trap)
            trap[1](process)


def _succeed(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
