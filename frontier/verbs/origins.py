"""`Origins`: the robots.txt of each origin, and which origins answer."""

import zlib
from typing import cast

from thresher.frontier.lease import Fault, Lease
from thresher.frontier.link.call import Arg
from thresher.frontier.robots_record import RobotsRecord, RobotsRule, compress_rules
from thresher.frontier.urls.canonical import host_of
from thresher.frontier.verbs.crawl import Crawl


class Origins:
    """The origins of one crawl. A robots.txt is leased like a page (`Kind.ROBOTS`), and its lease ends here."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def settle_robots(  # noqa: PLR0913 - the fields of one settlement
        self,
        lease: Lease,
        *,
        rule: RobotsRule,
        body: bytes,
        ttl_ms: int,
        delay_ms: int | None,
        fault: Fault | None = None,
        reason: str = "",
        hold_ms: int = 0,
        is_worker_dead: bool = False,
    ) -> None:
        """Store the content of an origin's robots.txt for `ttl_ms`, and let its host go on.

        With a `fault`, the request failed and these are the rules that the origin had before: the fault counts like the
        fault of a page, and `reason` may name its kind (`FAULT_DETAILS`). No request is sent to the host for `hold_ms`.
        `is_worker_dead` is as for `Frontier.settle`.

        `delay_ms` is the rules' crawl-delay. If several origins share a host, the slowest counts until that origin asks
        for less; then its new delay counts, until the rules of another origin ask for more.
        """
        args = (
            rule,
            compress_rules(body),
            ttl_ms,
            delay_ms or 0,
            fault or "",
            hold_ms,
            reason,
            int(is_worker_dead),
        )
        await self._end_robots(lease, "settle_robots", *args)

    async def retry_robots(
        self,
        lease: Lease,
        *,
        after_ms: int | None,
        fault: Fault | None = None,
        reason: str = "",
        is_worker_dead: bool = False,
    ) -> None:
        """Give back a robots.txt that could not be fetched; no request is sent to its host for `after_ms`, or for as
        long as the fault says. None doubles from 30 s, or from less if the crawl's delay is below a second. `reason`
        may name the kind of the fault. `is_worker_dead` is as for `Frontier.settle`.

        If URLs of several origins of the host wait, any fault but DNS is the origin's own: it rests alone, and is given
        up for an hour (`disallow`) at the third fault in a row, or at the eighth if it had a robots.txt before. Then
        the body of its record is the reason, in the form that pages of a host that was given up have
        (`dead_tls_expired`).
        """
        wait = -1 if after_ms is None else max(after_ms, 0)
        await self._end_robots(lease, "retry_robots", wait, fault or "", reason, int(is_worker_dead))

    async def robots(self, origin: str) -> RobotsRecord | None:
        """Return the newest robots record of an origin, stale or not; None if there never was one."""
        partition = self._crawl.partitions.of_host(host_of(origin))
        version, rule, body = await self._crawl.one(
            self._crawl.partitions.call(partition, "robots", origin, key="robots")
        )
        if version == 0:
            return None
        return RobotsRecord(
            origin=origin,
            version=version,
            rule=cast("RobotsRule", rule.decode()),
            body=body[1:] if body[:1] in {b"", b"\0"} else zlib.decompress(body),
        )

    async def responsive(self, n: int) -> list[str]:
        """Return about `n` origins at most that have answered and are not given up. Origins whose hosts do not rest
        come first; which origins are chosen is not defined.
        """
        rows = await self._crawl.link.call(
            self._crawl.partitions.calls("responsive", -(-n // self._crawl.partitions.number))
        )
        return [origin.decode() for kind in (0, 1) for row in rows for origin in row[kind]]

    async def _end_robots(self, lease: Lease, verb: str, *args: Arg) -> None:
        """End the lease of a robots.txt. If the server has restarted, it may have forgotten the lease: repeat the call
        once the server has the lease again.
        """
        partition = self._crawl.partitions.of_token(lease.token)
        call = self._crawl.partitions.call(partition, verb, lease.token, *args)
        while True:
            expected = self._crawl.journal.nonce(partition)
            nonce, at_ms = await self._crawl.one(call)
            if nonce == expected:
                return await self._crawl.reconciler.record_call(partition, call, nonce, at_ms, [lease.token])
            await self._crawl.reconciler.ensure_current(partition, nonce)
