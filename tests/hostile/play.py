"""A crawl over a web, through the real command, and all that can be seen of it afterwards."""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Self

from redis import Redis

from frontier import canonical
from frontier.server import embedded
from tests.hostile import warc
from tests.hostile.command import LEDGER
from tests.hostile.host import Host
from tests.hostile.rows.row import ABSENT, GOOD, NAMED, Row
from tests.hostile.web import Web

ROOT = Path(__file__).parents[2]
LEAP_MS = 5_000
"""The first leap; each one that brings nothing is followed by one twice as long,"""
LONGEST_LEAP_MS = 640_000
"""up to this."""
LOOK_S = 0.05
TOML = """
[project]
contact = "mailto:hostile@example.org"
[crawler]
min_delay = {min_delay}
min_ip_delay = {min_ip_delay}
timeout = {timeout}
max_body = "2MiB"
max_pages_per_host = {most}
allow_networks = ["127.1.0.0/16", "::1/128"]
"""


class Hurry:
    """Moves the frontier's clock ahead whenever nothing is under way: what waits an hour waits some tenths of a second.

    Nothing is moved while a lease is open, so time-outs and delays under way are what they are. Every leap is noted.
    """

    def __init__(self, address: str) -> None:
        self._redis = Redis(unix_socket_path=address.removeprefix("unix://"))
        self.leaps: list[tuple[float, float]] = []
        """When, in seconds since the epoch, and by how many seconds."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._redis.close()

    def _run(self) -> None:
        idle = 0
        before: list[bytes | None] = []
        while not self._stop.wait(LOOK_S):
            keys = [key for key in self._redis.scan_iter("*count") if self._redis.hexists(key, "steady")]
            open_ = sum(self._redis.hlen(key[: -len(b"count")] + b"leases") for key in keys)
            walls = [self._redis.hget(key, "wall") for key in keys]
            if walls == before:
                continue  # nobody has asked since: the worker is busy with itself
            before = walls
            idle = idle + 1 if keys and not open_ else 0
            if idle % 2:
                continue
            leap = min(LEAP_MS << max(idle // 2 - 1, 0), LONGEST_LEAP_MS) if idle else 0
            for key in keys if leap else ():
                self._redis.hincrby(key, "steady", leap)
            if leap:
                self.leaps.append((time.time(), leap / 1000))


class Project:
    """A directory of thresher's, and the commands that are run in it."""

    def __init__(self, directory: Path, web: Web | None, *, toml: str) -> None:
        self.directory, self.ledger = directory, directory / "ledger.jsonl"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "thresher.toml").write_text(toml)
        self.environment = {**os.environ, LEDGER: str(self.ledger), "PYTHONPATH": str(ROOT)}
        if web is not None:
            self.environment["SSL_CERT_FILE"] = str(web.authority.bundle)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "tests.hostile.command", *words]

    def run(self, *words: str, limit_s: float = 300) -> dict:
        """What a command answers in JSON. Raises `AssertionError` where it fails, or takes too long."""
        done = subprocess.run(
            self.command(*words, "--json"),
            cwd=self.directory,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=limit_s,
        )
        assert done.returncode == 0, (
            f"{words}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
        return json.loads(done.stdout)

    def start(self, *words: str) -> subprocess.Popen:
        """A command that runs by itself, in a session of its own."""
        log = (self.directory / "log").open("a")
        return subprocess.Popen(
            self.command(*words),
            cwd=self.directory,
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def seed(self, urls: Sequence[str], *, scope: str, name: str = "main", more: Sequence[str] = ()) -> dict:
        path = self.directory / f"seeds-{scope}.txt"
        path.write_text("\n".join(urls))
        return self.run("seed", str(path), "--crawl", name, "--scope", scope, *more)

    @contextmanager
    def frontier(self) -> Iterator[str]:
        """Address of the embedded frontier, which runs as long as the context at least."""
        with embedded(self.directory / ".thresher" / "redis") as address:
            yield address

    @property
    def settled(self) -> list[dict]:
        """How every lease ended, in order."""
        return (
            [json.loads(line) for line in self.ledger.read_text().splitlines()]
            if self.ledger.exists()
            else []
        )

    @property
    def records(self) -> list[warc.Record]:
        return warc.archived(self.directory / "data")


@dataclass(frozen=True, kw_only=True)
class Played:
    """One crawl over all rows."""

    web: Web
    project: Project
    records: list[warc.Record]
    settled: list[dict]
    leaps: list[tuple[float, float]]
    stats: dict
    """Of the frontier, at the end."""
    begun: float
    ended: float

    def seen(self, row: Row) -> "Seen":
        """What was seen of one row."""
        return Seen(self, row)

    @cached_property
    def row_of(self) -> dict[str, Row]:
        """By name."""
        return {row.name: row for row in self.web.rows}


def play(
    web: Web,
    directory: Path,
    *,
    min_delay: float = 0.01,
    min_ip_delay: float = 0,
    timeout: float = 3.0,
    hurry: bool = True,
    limit_s: float = 300,
) -> Played:
    """Crawl a web until its frontier is drained. Raises where the crawl does not end by itself."""
    toml = TOML.format(min_delay=min_delay, min_ip_delay=min_ip_delay, timeout=timeout, most=400)
    if NAMED:
        toml += f"nameservers = {json.dumps(web.names.servers)}\n"
    project = Project(directory, web, toml=toml)
    begun = time.time()
    with project.frontier() as address:
        for scope in ("host", "any", "domain"):
            urls = [web.url(row) + path for row in web.rows if row.scope == scope for path in row.seeds]
            if urls:
                project.seed(urls, scope=scope)
        moving = Hurry(address)
        with moving if hurry else nullcontext():
            project.run("crawl", limit_s=limit_s)
        stats = next(one for one in project.run("status")["sources"] if one["name"] == "main")["frontier"]
    return Played(
        web=web,
        project=project,
        records=project.records,
        settled=project.settled,
        leaps=moving.leaps,
        stats=stats,
        begun=begun,
        ended=time.time(),
    )


class Seen:
    """What was seen of one row: at its host, in the archive, in the frontier."""

    def __init__(self, played: Played, row: Row) -> None:
        self._played, self.row = played, row
        self.host: Host = played.web.hosts[row.name]
        self.url = played.web.url(row)
        self.records = [record for record in played.records if record.url.startswith(f"{self.url}/")]

    @property
    def canary(self) -> int:
        """How often anybody connected to the canary."""
        return len(self._played.web.canary.connected)

    @cached_property
    def _ends(self) -> dict[str, dict]:
        found = {}
        for one in self._played.settled:
            if one["url"].startswith(f"{self.url}/"):
                found[one["url"][len(self.url) :]] = one
        return found

    @property
    def outcomes(self) -> Counter[str]:
        """Of the whole crawl: pages by `outcome:reason`, where there is a reason."""
        return Counter(self._played.stats["reasons"])

    def ended(self, path: str) -> str:
        """`outcome:reason` of a path's last lease; the third RETRY is FAILED, as the frontier has it.

        What was never leased because nobody could have a robots.txt was given up with its host.
        """
        one = self._ends.get(canonical(self.url + path).text[len(self.url) :])
        if one is None:
            robots = self._ends.get("/robots.txt")
            return "failed:host_dead" if robots is not None and robots["outcome"] == "again" else "none"
        last = one["kind"] == "page" and one["outcome"] == "retry" and one["attempt"] >= 2
        return f"{'failed' if last else one['outcome']}:{one['reason']}"

    def between(self, first: float, second: float) -> float:
        """Seconds from one moment to another, by the frontier's clock."""
        return second - first + sum(by for at, by in self._played.leaps if first < at <= second)

    def responses(self, path: str) -> list[warc.Record]:
        """What the archive has of a path, revisits included."""
        return [
            record
            for record in self.records
            if record.type in {"response", "revisit"} and record.url == self.url + path
        ]

    def response(self, path: str) -> warc.Record:
        """The last response record of a path."""
        found = self.responses(path)
        assert found, f"no record of {path}"
        return found[-1]

    def fail(self, message: str) -> None:
        raise AssertionError(message)

    def reason(self, word: str) -> None:
        """Some lease of this host ended for a reason with that word in it."""
        reasons = {one["reason"] for one in self._ends.values()}
        reasons |= {one["reason"] for one in self._played.settled if one["url"].startswith(f"{self.url}/")}
        assert any(word in reason for reason in reasons), reasons

    def unconnected(self) -> None:
        """Nobody ever came to the host."""
        assert not self.host.connected, "somebody connected"

    def fetched(self, *paths: str) -> None:
        """These were fetched, once, and are archived with the bytes that were sent."""
        for path in paths:
            assert self.ended(path).startswith("fetched:"), f"{path} ended as {self.ended(path)}"
            whole = [record for record in self.responses(path) if record.get("WARC-Truncated") is None]
            assert len(whole) == 1, f"{path} has {len(whole)} records"
            assert self._sent(whole[0].block, path), f"{path}: the record is not what was sent"

    def payload(self, path: str, entity: bytes) -> None:
        """The payload digest is of this entity."""
        record = self.response(path)
        assert record.get("WARC-Payload-Digest") == warc.sha1(entity), record.block

    def payload_digests(self, path: str) -> set[str]:
        return {record.get("WARC-Payload-Digest") or "" for record in self.responses(path)}

    def body(self, path: str, body: bytes) -> None:
        """The record's body is this, byte for byte."""
        assert self.response(path).body == body

    def address(self, path: str, address: str) -> None:
        assert self.response(path).get("WARC-IP-Address") == address

    def asked_like(self, wanted: str, path: str) -> None:
        asked = [one for one in self.host.paths if one.upper().startswith(path.upper())]
        assert asked, f"nothing like {path} was asked for, but {list(self.host.paths)}"
        assert [one.upper() for one in asked] == [wanted.upper()], f"{asked}, not {wanted}"

    def judge(self) -> list[str]:
        """Everything that is not as the row has it; empty where all is."""
        wrong: list[str] = []
        for check in (self._good, self._ended, self._kept, self._asked, self._bytes, self._also):
            try:
                check()
            except (AssertionError, StopIteration, ValueError, IndexError) as error:
                wrong.append(str(error) or type(error).__name__)
        return wrong

    def judge_by_log(self) -> list[str]:
        """What the host alone can tell, of any crawler: the good pages were had, nothing was asked for too often."""
        paths = self.host.paths
        wrong = [f"{path} was not asked for" for path in GOOD if self.row.good and not paths[path]]
        if self.row.number == 35 and self.canary:
            wrong.append("the canary was asked")
        try:
            self._asked()
        except AssertionError as error:
            wrong.append(str(error))
        return wrong

    def _good(self) -> None:
        if self.row.good:
            self.fetched(*(("/",) if "/" not in self.row.ended else ()), *GOOD)
            paths = self.host.paths
            for path in GOOD:
                assert paths[path] == self.row.asked.get(path, (1, 1))[0], (
                    f"{path} was asked for {paths[path]} times"
                )

    def _ended(self) -> None:
        for path, pattern in self.row.ended.items():
            assert fnmatchcase(self.ended(path), pattern), (
                f"{path} ended as {self.ended(path)}, not {pattern}"
            )

    def _kept(self) -> None:
        for path, truncated in self.row.kept.items():
            found = self.responses(path)
            if truncated == ABSENT:
                assert not found, f"{path} has a record"
            else:
                assert found, f"{path} has no record"
                said = found[-1].get("WARC-Truncated")
                assert said == truncated, f"{path}: WARC-Truncated is {said}, not {truncated}"

    def _asked(self) -> None:
        paths = self.host.paths
        for path, (least, most) in self.row.asked.items():
            assert least <= paths[path] <= most, (
                f"{path} was asked for {paths[path]} times, not {least} to {most}"
            )
        for beginning in self.row.never:
            asked = [path for path in paths if path.startswith(beginning)]
            assert not asked, f"{asked} were asked for"

    def _bytes(self) -> None:
        h2 = self.row.tls == "h2"
        requests = {one.raw for one in self.host.log}
        for record in self.records:
            path = record.url[len(self.url) :]
            if record.type == "response" and not h2:
                assert self._sent(record.block, path, cut=record.get("WARC-Truncated")), (
                    f"{path}: not what was sent"
                )
            if record.type == "request" and not h2:
                assert record.block in requests, f"{path}: a request that nobody received"

    def _sent(self, block: bytes, path: str, *, cut: str | None = None) -> bool:
        for one in self.host.log:
            if self.row.tls == "h2":
                return True
            if one.path != path:
                continue
            sent = final(bytes(one.sent))
            if sent == block or (block and (cut or len(block) < len(sent)) and sent.startswith(block)):
                return True
        return False

    def _also(self) -> None:
        if self.row.also is not None:
            self.row.also(self)


def final(sent: bytes) -> bytes:
    """What was sent without the interim responses before the response, and without empty lines before its status line."""
    sent = sent.lstrip(b"\r\n")
    while sent.startswith((b"HTTP/1.1 100", b"HTTP/1.1 102", b"HTTP/1.1 103")):
        sent = sent.partition(b"\r\n\r\n")[2]
    return sent
