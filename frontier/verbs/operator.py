"""`Operator`: the verbs by which an operator holds, resumes, prefers and drops hosts."""

from collections import defaultdict
from typing import Any, cast

from thresher.frontier.codec.arguments import batches
from thresher.frontier.lease import Rank
from thresher.frontier.urls.scope import Scope, registered_domain
from thresher.frontier.verbs.crawl import HOSTS_PER_CALL, Crawl


class Operator:
    """The operator's commands for the hosts of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def hold(self, host: str, ms: int, reason: str = "operator") -> bool:
        """Hold a host: let no worker request it for `ms` milliseconds, or for longer if it is held for longer already.
        `reason` is `operator` or `login_ended`. Return False if the host is unknown.
        """
        return bool(
            await self._crawl.one(
                self._crawl.partitions.call(
                    self._crawl.partitions.of_host(host), "hold", host, max(ms, 0), reason
                )
            )
        )

    async def resume(self, host: str) -> bool:
        """Let workers request a host again, whatever held it, even if it was given up. Its delay still holds. Return
        False if the host is unknown.
        """
        return bool(
            await self._crawl.one(
                self._crawl.partitions.call(self._crawl.partitions.of_host(host), "hold", host, -1)
            )
        )

    async def prefer(self, ranks: dict[str, Rank]) -> None:
        """Rank the hosts of registered domains, known and future ones."""
        chosen: defaultdict[tuple[int, Rank], list[str]] = defaultdict(list)
        async for partition, host in self._hosts():
            domain = registered_domain(host)
            if domain in ranks:
                chosen[partition, ranks[domain]].append(host)
        calls = [
            self._crawl.partitions.call(
                self._crawl.partitions.of_host(domain), "rank_domain", int(rank), domain
            )
            for domain, rank in ranks.items()
        ]
        for (partition, rank), hosts in chosen.items():
            calls += [
                self._crawl.partitions.call(partition, "rank", int(rank), *some)
                for some in batches(hosts, HOSTS_PER_CALL)
            ]
        await self._crawl.link.call(calls)

    async def drop(self, scope: Scope) -> int:
        """Bar a scope: its URLs are neither added nor leased any more. Return how many of its waiting pages are settled
        as refused now. Pages under a prefix lie among others of their host and are settled when their turn comes.
        """
        await self._call_scope("bar", scope)
        partitions = self._crawl.partitions
        partition = partitions.of_scope(scope)
        if scope.kind == "prefix":
            return 0
        if scope.kind == "host":
            return cast(
                "int",
                await self._crawl.one(
                    partitions.call(partitions.of_host(scope.anchor), "drop", scope.anchor)
                ),
            )
        dropped = 0
        async for found, host in self._hosts(partition):
            if scope.kind == "any" or registered_domain(host) == scope.anchor:
                dropped += await self._crawl.one(partitions.call(found, "drop", host))
        return dropped

    async def undrop(self, scope: Scope) -> None:
        """Bar a scope no longer; it may not be barred at all. Pages that were refused meanwhile stay settled."""
        await self._call_scope("unbar", scope)

    async def barred_scopes(self) -> list[Scope]:
        """Return the scopes that are barred, in alphabetical order."""
        replies = await self._crawl.link.call(self._crawl.partitions.calls("barred_scopes"))
        return [Scope.parse(text) for text in sorted({bar.decode() for bars in replies for bar in bars})]

    async def _call_scope(self, verb: str, scope: Scope) -> None:
        partitions = self._crawl.partitions
        partition = partitions.of_scope(scope)
        await self._crawl.link.call(
            partitions.calls(verb, str(scope))
            if partition is None
            else [partitions.call(partition, verb, str(scope))]
        )

    async def _hosts(self, partition: int | None = None) -> Any:
        for p in range(self._crawl.partitions.number) if partition is None else (partition,):
            cursor = b"0"
            while True:
                cursor, names = await self._crawl.one(
                    self._crawl.partitions.call(p, "scan", cursor, HOSTS_PER_CALL, key="hosts")
                )
                for name in names:
                    yield p, name.decode()
                if cursor == b"0":
                    break
