"""A fleet of workers under which everything breaks, and what they saw of the frontier held against its promises.

usage: python bench/fleet.py --dir DIR [--urls N] [--hosts N] [--hands N] [--workers N] [--batch N] [--seed N]
       [--kill SECONDS] [--restart SECONDS] [--loss SECONDS] [--jump SECONDS] [--drop %] [--lose %] [--twice %]
       [--again %] [--delay %] [--freeze %] [--die %]

One embedded server, a proxy before it, and --hands processes of --workers workers each, which lease, wait some
milliseconds, release and settle, until every URL is settled. Meanwhile, on average every so many seconds:

--kill      a process gets SIGKILL, and another takes its place
--restart   the server gets SIGKILL, and is started again from its append-only file
--loss      the same, and what it wrote in up to its last second is cut off the file, as by a loss of power
--jump      the server's clock is moved by an hour, on or back (needs the package libfaketime)

and of the requests --drop, --lose, --twice, --again, --delay and --freeze per cent meet what `Trouble` says; a worker is
ended at --die per cent of the points between two calls; its leases are taken back by another, or expire.

The web: page u has two pages of its own and links to pages known already; its host, its outcome and its host's crawl
delay (0 to 200 ms, another with each version of robots.txt) follow from u and the seed, so that it is known what must
be settled in the end. Prints one JSON line (`judge` in `ledger.py` says what is held against what), and ends with 1
where a promise was broken.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import MISSING, asdict, dataclass, field, fields
from itertools import count
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from xxhash import xxh3_64_intdigest

from bench.ledger import Fact, Kind, Ledger, Span, Verdict, judge, read
from core import Unavailable
from frontier import Discovery, Frontier, Lease, Outcome, Scope, Settlement, Stats
from frontier import Kind as Wanted
from frontier.canonical import known
from frontier.connect import connect
from frontier.server import embedded
from tests.frontier.proxy import Trouble, proxy

CRAWL = "fleet"
LINKS = 3
"""Of a page, to pages that are likely known."""
ROOTS = 50
ATTEMPTS = 3
"""Times that the frontier has a page tried."""
SERIALS = 1 << 16
"""Workers of one process, one after the other."""
IDLE_S = 0.01
LOOK_S = 0.05
CLOCK = "clock"
"""File that says how far the server's clock is off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What is to be done, and what is to go wrong."""

    dir: Path
    urls: int = 20_000
    hosts: int = 1_000
    hands: int = 4
    workers: int = 16
    batch: int = 16
    """Leases asked for at once."""
    seed: int = 1
    min_delay_ms: int = 20
    crawl_delay_ms: int = 200
    lease_ms: int = 4_000
    think_ms: float = 4.0
    ttl_ms: int = 60_000
    """A robots.txt is asked for again after it."""
    kill: float = 0.0
    restart: float = 0.0
    loss: float = 0.0
    jump: float = 0.0
    die: float = 0.05
    drop: float = 0.2
    lose: float = 0.2
    twice: float = 0.2
    again: float = 0.2
    delay: float = 0.5
    freeze: float = 0.02

    @property
    def trouble(self) -> Trouble:
        """What the proxy does."""
        return Trouble(
            **{name: getattr(self, name) for name in ("drop", "lose", "twice", "again", "delay", "freeze")}
        )

    @property
    def proxied(self) -> Path:
        """Socket of the proxy."""
        return self.dir / "proxy"

    @property
    def state(self) -> Path:
        """Where the server keeps its data."""
        return self.dir / "state"

    def words(self) -> list[str]:
        """The command line that says the same."""
        return [
            part
            for name, value in asdict(self).items()
            for part in (f"--{name.replace('_', '-')}", str(value))
        ]


# The web -------------------------------------------------------------------------------------------------------


def draw(play: Play, what: str, *numbers: int) -> int:
    """A number that follows from the seed."""
    return xxh3_64_intdigest(f"{play.seed} {what} {numbers}".encode())


def discovery(play: Play, page: int) -> Discovery:
    """A page, as a link to it is found."""
    text = f"http://h{draw(play, 'host', page) % play.hosts}.test/{page}"
    url = known(text, text)
    return Discovery(url=url, scope=Scope(kind="any", anchor=""))


def links(play: Play, page: int) -> tuple[Discovery, ...]:
    """What is found on a page."""
    own = [child for child in (2 * page + ROOTS, 2 * page + ROOTS + 1) if child < play.urls]
    others = [draw(play, "link", page, i) % (page + 1) for i in range(LINKS)]
    return tuple(discovery(play, other) for other in (*own, *others))


def crawl_delay_ms(play: Play, host: int, version: int) -> int:
    """What a host's rules ask for."""
    return draw(play, "delay", host, version) % (play.crawl_delay_ms + 1) if version else 0


def settlement(play: Play, lease: Lease, page: int) -> tuple[Settlement, bool]:
    """How the page's lease ends, and whether that is the end of the page."""
    if lease.attempt == 0 and draw(play, "retry", page) % 50 == 0:
        hold = draw(play, "hold", page) % 300 if page % 2 else 0
        return Settlement(
            lease=lease, outcome=Outcome.RETRY, reason="again", retry_after_ms=200, hold_ms=hold
        ), False
    if 2 * page + ROOTS < play.urls:
        return Settlement(lease=lease, outcome=Outcome.FETCHED, discoveries=links(play, page)), True
    ends = (Outcome.FETCHED, Outcome.FETCHED, Outcome.REFUSED, Outcome.FAILED)
    return Settlement(lease=lease, outcome=ends[draw(play, "end", page) % 4]), True


# A process of workers ------------------------------------------------------------------------------------------


class Death(Exception):
    """Of a worker, between two calls."""


@dataclass(kw_only=True)
class Hand:
    """One process of workers. Workers of generation g have numbers from g * SERIALS on."""

    play: Play
    generation: int
    frontier: Frontier
    ledger: Ledger
    random: Random
    drained: bool = False
    _serial: "count[int]" = field(default_factory=count)

    async def live(self, heir_of: int | None) -> None:
        """Work until nothing is left."""
        if heir_of is not None:
            await self._inherit(heir_of)
        await asyncio.gather(self._look(), *(self._place() for _ in range(self.play.workers)))

    async def _look(self) -> None:
        while not self.drained:
            await asyncio.sleep(self.random.uniform(0.2, 1.0))
            with suppress(Unavailable):
                self.drained = (await self.frontier.stats()).drained

    async def _inherit(self, generation: int) -> None:
        """Take half of what a dead process held; the rest expires."""
        with suppress(Unavailable):
            for holder in sorted(await self.frontier.holders()):
                if int(holder) // SERIALS == generation and self.random.random() < 0.5:
                    await self._reclaim(int(holder))

    async def _place(self) -> None:
        """One worker after the other."""
        while not self.drained:
            worker = self.generation * SERIALS + next(self._serial)
            try:
                while not self.drained:
                    await self._turn(worker)
            except Death:
                self.ledger.write([Fact(Kind.DEATH, worker=worker)])
                if self.random.random() < 0.5:
                    await asyncio.sleep(self.random.random())
                    await self._reclaim(worker)

    async def _reclaim(self, worker: int) -> None:
        self.ledger.write([Fact(Kind.RECLAIM, worker=worker, before=now())])
        with suppress(Unavailable):
            await self.frontier.reclaim(str(worker))

    async def _turn(self, worker: int) -> None:
        leases = await self._lease(worker)
        if not leases:
            await asyncio.sleep(self.random.uniform(0, IDLE_S))
            return
        await self._think()
        await self._end(worker, leases)
        await self._think()
        for lease in leases:
            if lease.kind is Wanted.ROBOTS:
                await self._robots(worker, lease)
        await self._settle(worker, [lease for lease in leases if lease.kind is Wanted.PAGE])
        self._may_die()

    async def _think(self) -> None:
        self._may_die()
        await asyncio.sleep(self.random.random() * self.play.think_ms / 1000)
        self._may_die()

    def _may_die(self) -> None:
        if self.random.random() * 100 < self.play.die:
            raise Death

    async def _lease(self, worker: int) -> list[Lease]:
        play, before = self.play, now()
        try:
            leases = await self.frontier.lease(
                self.random.randint(1, play.batch),
                worker=str(worker),
                lease_ms=play.lease_ms,
                min_delay_ms=play.min_delay_ms,
            )
        except Unavailable:
            await asyncio.sleep(IDLE_S)
            return []
        after = now()
        self.ledger.write(
            Fact(
                Kind.GRANT,
                version=lease.robots_version,
                worker=worker,
                host=(host := host_of(lease)),
                wait=max(play.min_delay_ms, crawl_delay_ms(play, host, lease.robots_version)),
                url=-1 if lease.kind is Wanted.ROBOTS else page_of(lease),
                token=lease.token,
                at=lease.deadline_ms - play.lease_ms,
                before=before,
                after=after,
            )
            for lease in leases
        )
        return leases

    async def _end(self, worker: int, leases: Sequence[Lease]) -> None:
        before = now()
        self.ledger.write(Fact(Kind.END, worker=worker, token=lease.token, before=before) for lease in leases)
        with suppress(Unavailable):
            await self.frontier.release(leases)

    async def _robots(self, worker: int, lease: Lease) -> None:
        self.ledger.write([Fact(Kind.END, worker=worker, token=lease.token, before=now())])
        delay = crawl_delay_ms(self.play, host_of(lease), lease.robots_version + 1)
        with suppress(Unavailable):
            await self.frontier.settle_robots(
                lease, rule="allow", body=b"", ttl_ms=self.play.ttl_ms, delay_ms=delay
            )

    async def _settle(self, worker: int, leases: Sequence[Lease]) -> None:
        if not leases:
            return
        before = now()
        told = [(lease, *settlement(self.play, lease, page_of(lease))) for lease in leases]
        facts = [
            Fact(
                Kind.SETTLE,
                final=final,
                worker=worker,
                host=host_of(lease),
                wait=settled.hold_ms,
                url=page_of(lease),
                token=lease.token,
                before=before,
            )
            for lease, settled, final in told
        ]
        self.ledger.write(facts)
        try:
            accepted = await self.frontier.settle([settled for _, settled, _ in told])
        except Unavailable:
            return
        if accepted == len(facts):  # of fewer nobody says which
            after = now()
            self.ledger.write(fact._replace(kind=Kind.ACCEPTED, after=after) for fact in facts)


def now() -> int:
    """CLOCK_MONOTONIC in nanoseconds."""
    return time.monotonic_ns()


def host_of(lease: Lease) -> int:
    """Number of the host."""
    return int(lease.url.host[1:].removesuffix(".test"))


def page_of(lease: Lease) -> int:
    """Number of the page."""
    return int(lease.url.text.rpartition("/")[2])


async def hand(play: Play, generation: int, heir_of: int | None) -> None:
    """The process, to its end."""
    redis = await connect(f"unix://{play.proxied}")
    try:
        await Hand(
            play=play,
            generation=generation,
            frontier=Frontier(redis, CRAWL),
            ledger=Ledger(play.dir / f"{generation}.facts"),
            random=Random(f"{play.seed} {generation}"),
        ).live(heir_of)
    finally:
        await redis.aclose()


async def between(play: Play) -> None:
    """The process of the proxy, until SIGTERM; says what it has done."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    server = Path((play.state / "socket").read_text().removesuffix("\n"))
    async with proxy(server, play.proxied, play.trouble, seed=play.seed) as made:
        await over.wait()
    print(json.dumps(made.met))


# The one who breaks things -------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Breaker:
    """Starts processes and the server, and ends them."""

    play: Play
    stack: ExitStack
    random: Random
    done: Counter[str] = field(default_factory=Counter)
    breaks: list[int] = field(default_factory=list)
    losses: list[Span] = field(default_factory=list)
    hands: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _generation: "count[int]" = field(default_factory=lambda: count(1))
    _sizes: list[tuple[int, Path, int]] = field(default_factory=list)

    def run(self) -> None:
        """Until every process came to its end by itself."""
        for _ in range(self.play.hands):
            self.start()
        due = {name: self._next(name) for name in ("kill", "restart", "loss", "jump")}
        while self.hands:
            time.sleep(LOOK_S)
            self._measure()
            for generation, process in list(self.hands.items()):
                if process.poll() is not None:
                    if process.returncode != 0:
                        raise SystemExit(f"a process of workers ended with {process.returncode}")
                    del self.hands[generation]
            for name, moment in list(due.items()):
                if self.hands and time.monotonic() > moment:
                    getattr(self, name)()
                    self.done[name] += 1
                    due[name] = self._next(name)

    def start(self, heir_of: int | None = None) -> None:
        """One more process."""
        generation = next(self._generation)
        words = ["--hand", str(generation), *(["--heir-of", str(heir_of)] if heir_of is not None else [])]
        self.hands[generation] = script(self.play, *words)

    def kill(self) -> None:
        """One process less, and one more."""
        generation = self.random.choice(sorted(self.hands))
        self.hands[generation].kill()
        self.hands.pop(generation).wait()
        self.start(generation)

    def restart(self) -> None:
        """The server dies and comes back."""
        self._kill_server()
        self._start_server()

    def loss(self) -> None:
        """The server comes back without what it wrote last."""
        begin, path, size = self.random.choice(self._sizes)
        end = self._kill_server()
        if path == newest_log(self.play):
            os.truncate(path, size)
            self.losses.append(Span(begin, end))
        self._start_server()

    def jump(self) -> None:
        """The server's clock moves."""
        file = self.play.dir / CLOCK
        self.breaks.append(now())
        hours = int(file.read_text()) // 3600
        set_clock(file, 3600 * self.random.choice([hour for hour in (-1, 0, 1) if hour != hours]))
        time.sleep(LOOK_S)  # the server may have read its clock just before
        self.breaks.append(now())

    def _next(self, name: str) -> float:
        every = getattr(self.play, name)
        return time.monotonic() + every * self.random.uniform(0.5, 1.5) if every else float("inf")

    def _measure(self) -> None:
        """How long the append-only file is; what was answered before is in it."""
        begin = now()
        path = newest_log(self.play)
        self._sizes = [
            *(seen for seen in self._sizes if begin - seen[0] < 10**9),
            (begin, path, path.stat().st_size),
        ]

    def _kill_server(self) -> int:
        self.breaks.append(now())
        os.kill(int((self.play.state / "server.pid").read_text()), signal.SIGKILL)
        return now()

    def _start_server(self) -> None:
        self.stack.enter_context(embedded(self.play.state))
        self.breaks.append(now())
        self._sizes.clear()
        self._measure()


def newest_log(play: Play) -> Path:
    """The append-only file that the server writes."""
    logs = (play.state / "appendonlydir").glob("*.incr.aof")
    return max(logs, key=lambda path: int(path.name.split(".")[-3]))


def set_clock(file: Path, seconds: int) -> None:
    """Tell a server under libfaketime how far its clock is off."""
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.replace(file)


@contextmanager
def movable(play: Play) -> Iterator[None]:
    """Servers that are started meanwhile have a clock that `set_clock` moves."""
    import libfaketime  # noqa: PLC0415 - only who asks for jumps needs it

    library = next(Path(libfaketime.__file__).parent.rglob("libfaketime.so.1"))
    set_clock(play.dir / CLOCK, 0)
    words = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(play.dir / CLOCK),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    os.environ.update(words)
    try:
        yield
    finally:
        for name in words:
            del os.environ[name]


def script(play: Play, *words: str) -> "subprocess.Popen[bytes]":
    """This file, as another process; with a clock that nobody moves."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.Popen(
        [sys.executable, __file__, *play.words(), *words], env=environment, stdout=subprocess.PIPE
    )


# Together ------------------------------------------------------------------------------------------------------


def fleet(play: Play) -> tuple[Verdict, dict[str, object]]:
    """Let it happen; what follows, and what was done."""
    play.dir.mkdir(parents=True)
    with ExitStack() as stack:
        if play.jump:
            stack.enter_context(movable(play))
        address = stack.enter_context(embedded(play.state))
        asyncio.run(seeded(play, address))
        time.sleep(1.1)  # the seeds are on the disk
        proxy_process = script(play, "--between")
        stack.callback(proxy_process.kill)
        while not play.proxied.exists():
            time.sleep(LOOK_S)
        breaker = Breaker(play=play, stack=stack, random=Random(play.seed))
        stack.callback(lambda: [process.kill() for process in breaker.hands.values()])
        begun = time.monotonic()
        breaker.run()
        wall_s = time.monotonic() - begun
        proxy_process.terminate()
        met = json.loads(proxy_process.communicate()[0])
        stats = asyncio.run(counted(address))
    verdict = judge(
        read(sorted(play.dir.glob("*.facts"))),
        lease_ms=play.lease_ms,
        breaks=breaker.breaks,
        losses=breaker.losses,
    )
    figures = verdict.figures
    expired = stats.reasons.get("failed:lease_expired", 0)
    ended = sum(stats.outcomes.values())
    for rule, true in {
        "every page that can be found is known": stats.seen == play.urls
        or (expired and stats.seen <= play.urls),
        "every page known is settled": stats.drained and ended == stats.seen,
        "every page settled was settled by a worker, or expired too often": stats.seen
        - figures["urls_settled"]
        - figures["urls_settled_untold"]
        in range(expired + 1),
    }.items():
        if not true:
            verdict.violations.append(f"not so: {rule}: {stats}")
    done = {
        "urls": stats.seen,
        "outcomes": dict(stats.outcomes),
        "lease_expired": expired,
        "wall_s": round(wall_s, 1),
        "grants_per_s": round(figures["grants"] / wall_s),
        "broken": dict(breaker.done),
        "requests": met,
    }
    return verdict, done


async def seeded(play: Play, address: str) -> None:
    """Begin the crawl."""
    redis = await connect(address)
    frontier = Frontier(redis, CRAWL)
    await frontier.open()
    await frontier.add([discovery(play, page) for page in range(min(ROOTS, play.urls))])
    await redis.aclose()


async def counted(address: str) -> Stats:
    """What the frontier says in the end."""
    redis = await connect(address)
    stats = await Frontier(redis, CRAWL).stats()
    await redis.aclose()
    return stats


def main() -> None:
    """Read the command line; be what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option in fields(Play):
        default = {} if option.default is MISSING else {"default": option.default}
        parser.add_argument(
            f"--{option.name.replace('_', '-')}", type=option.type, required=not default, **default
        )
    parser.add_argument("--hand", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--heir-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--between", action="store_true", help=argparse.SUPPRESS)
    args = vars(parser.parse_args())
    generation, heir_of, is_proxy = (args.pop(name) for name in ("hand", "heir_of", "between"))
    play = Play(**args)
    if generation is not None:
        asyncio.run(hand(play, generation, heir_of))
    elif is_proxy:
        asyncio.run(between(play))
    else:
        shutil.rmtree(play.dir, ignore_errors=True)
        verdict, done = fleet(play)
        body = {"bench": "fleet", "play": asdict(play) | {"dir": play.dir.name}, **done, **verdict.figures}
        print(json.dumps(body | {"violations": verdict.violations}))
        sys.exit(1 if verdict.violations else 0)


if __name__ == "__main__":
    main()
