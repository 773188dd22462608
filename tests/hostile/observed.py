"""`CrawlRun`: a crawl over a web, after its end. `RowObservation`: what was observed of one row, and whether it is as
it should be.
"""

from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from tests.hostile import warc
from tests.hostile.host import Exchange, Host
from tests.hostile.project import Project
from tests.hostile.rows.row import ABSENT, GOOD, Row
from tests.hostile.web import Web
from thresher.frontier import canonicalize

WAY_S = 0.5
"""Seconds around an exchange within which a stall of the host may have moved its times: it may wait in the kernel."""


@dataclass(frozen=True, kw_only=True)
class CrawlRun:
    """One crawl over all rows."""

    web: Web
    project: Project
    records: list[warc.Record]
    settled: list[dict]
    leaps: list[tuple[float, float]]
    stats: dict
    """The frontier's, at the end."""
    begun: float
    ended: float

    def seen(self, row: Row) -> "RowObservation":
        """Return what was observed of one row."""
        return RowObservation(self, row)

    @cached_property
    def row_of(self) -> dict[str, Row]:
        """Return a row by its name."""
        return {row.name: row for row in self.web.rows}


class RowObservation:
    """What was observed of one row: at its host, in the archive, in the frontier."""

    def __init__(self, played: CrawlRun, row: Row) -> None:
        self._played, self.row = played, row
        self.host: Host = played.web.hosts[row.name]
        self.url = played.web.url(row)
        self.records = [record for record in played.records if record.url.startswith(f"{self.url}/")]

    @property
    def canary(self) -> int:
        """Return how often anybody connected to the canary."""
        return len(self._played.web.canary.connected)

    def late_s(self, exchange: Exchange) -> float:
        """Return the seconds by which the host may have noted an exchange too late, because the machine was busy."""
        return self._played.web.late_s(exchange.begun - WAY_S, exchange.ended + WAY_S)

    @cached_property
    def _ends(self) -> dict[str, dict]:
        found = {}
        for one in self._played.settled:
            if one["url"].startswith(f"{self.url}/"):
                found[one["url"][len(self.url) :]] = one
        return found

    @property
    def outcomes(self) -> Counter[str]:
        """Return the pages of the whole crawl by `outcome:reason`, for those with a reason."""
        return Counter(self._played.stats["reasons"])

    def ended(self, path: str) -> str:
        """Return `outcome:reason` of a path's last lease; the third RETRY is FAILED, as in the frontier.

        A page that was never leased because nobody could fetch a robots.txt was given up with its host.
        """
        one = self._ends.get(canonicalize(self.url + path).text[len(self.url) :])
        if one is None:
            robots = self._ends.get("/robots.txt")
            if robots is None or robots["outcome"] != "again":
                return "none"
            fine = f"failed:dead_{robots['reason']}"
            return fine if self.outcomes[fine] else "none"
        last = one["kind"] == "page" and one["outcome"] == "retry" and one["attempt"] >= 2
        return f"{'failed' if last else one['outcome']}:{one['reason']}"

    def between(self, first: float, second: float) -> float:
        """Return the seconds from one moment to another, by the frontier's clock."""
        return second - first + sum(by for at, by in self._played.leaps if first < at <= second)

    def responses(self, path: str) -> list[warc.Record]:
        """Return the archived responses of a path, revisits included, in order."""
        found = (
            record
            for record in self.records
            if record.type in {"response", "revisit"} and record.url == self.url + path
        )
        return sorted(found, key=lambda record: record.get("WARC-Date") or "")

    def response(self, path: str) -> warc.Record:
        """Return the last response record of a path."""
        found = self.responses(path)
        assert found, f"no record of {path}"
        return found[-1]

    def fail(self, message: str) -> None:
        raise AssertionError(message)

    def reason(self, word: str) -> None:
        """Assert that some lease of this host ended for a reason that contains the word."""
        reasons = {one["reason"] for one in self._ends.values()}
        reasons |= {one["reason"] for one in self._played.settled if one["url"].startswith(f"{self.url}/")}
        assert any(word in reason for reason in reasons), reasons

    def unconnected(self) -> None:
        """Assert that nobody ever connected to the host."""
        assert not self.host.connected, "somebody connected"

    def fetched(self, *paths: str) -> None:
        """Assert that these paths were fetched once, and are archived with the bytes that were sent."""
        for path in paths:
            assert self.ended(path).startswith("fetched:"), f"{path} ended as {self.ended(path)}"
            whole = [record for record in self.responses(path) if record.get("WARC-Truncated") is None]
            assert len(whole) == 1, f"{path} has {len(whole)} records"
            assert self._sent(whole[0].block, path), f"{path}: the record is not what was sent"

    def payload(self, path: str, entity: bytes) -> None:
        """Assert that the payload digest is that of this entity."""
        record = self.response(path)
        assert record.get("WARC-Payload-Digest") == warc.sha1(entity), record.block

    def payload_digests(self, path: str) -> set[str]:
        return {record.get("WARC-Payload-Digest") or "" for record in self.responses(path)}

    def body(self, path: str, body: bytes) -> None:
        """Assert that the record's body is this, byte for byte."""
        assert self.response(path).body == body

    def address(self, path: str, address: str) -> None:
        assert self.response(path).get("WARC-IP-Address") == address

    def asked_like(self, wanted: str, path: str) -> None:
        asked = [one for one in self.host.paths if one.upper().startswith(path.upper())]
        assert asked, f"nothing like {path} was asked for, but {list(self.host.paths)}"
        assert [one.upper() for one in asked] == [wanted.upper()], f"{asked}, not {wanted}"

    def judge(self) -> list[str]:
        """Return everything that is not as the row requires; empty if all is."""
        wrong: list[str] = []
        for check in (self._good, self._ended, self._kept, self._asked, self._bytes, self._extra_check):
            try:
                check()
            except (AssertionError, StopIteration, ValueError, IndexError) as error:
                wrong.append(str(error) or type(error).__name__)
        return wrong

    def judge_by_log(self) -> list[str]:
        """Return what the host alone can tell of any crawler: the good pages were fetched, nothing was requested too
        often.
        """
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

    def _extra_check(self) -> None:
        if self.row.extra_check is not None:
            self.row.extra_check(self)


def final(sent: bytes) -> bytes:
    """Return the sent bytes without the interim responses, and without the empty lines before the status line."""
    sent = sent.lstrip(b"\r\n")
    while sent.startswith((b"HTTP/1.1 100", b"HTTP/1.1 102", b"HTTP/1.1 103")):
        sent = sent.partition(b"\r\n\r\n")[2]
    return sent
