"""`Web`: the hosts that `bench/pipeline/night.py` crawls, on loopback."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from random import Random

from demo.wire import Request, Response, bind_sockets, serve_in_thread

PAGES_PER_LIST = 100


class Web:
    """Hosts with as many pages each: a front page, lists, and pages of prose that no other page has."""

    def __init__(self, pages: int, hosts: int) -> None:
        self.per_host = -(-pages // hosts)
        self.addresses = [f"127.20.{number // 250}.{number % 250 + 1}" for number in range(hosts)]
        self.log: list[tuple[str, str, float]] = []
        self.port = 0

    @property
    def lists(self) -> int:
        """Number of list pages of a host."""
        return -(-self.per_host // PAGES_PER_LIST)

    @property
    def seeds(self) -> list[str]:
        """The front pages."""
        return [f"http://{address}:{self.port}/" for address in self.addresses]

    def expected(self) -> set[str]:
        """Return every URL that a crawl of the seeds must archive."""
        paths = [
            "/",
            *(f"/list/{n}" for n in range(self.lists)),
            *(f"/page/{n}" for n in range(self.per_host)),
        ]
        return {f"http://{address}:{self.port}{path}" for address in self.addresses for path in paths}

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve from a thread."""
        self.port, sockets = bind_sockets(self.addresses)
        with serve_in_thread(self.respond, sockets):
            yield

    def respond(self, request: Request) -> Response:
        """Answer a request, and write down when it came."""
        self.log.append((request.address, request.target, time.monotonic()))
        kind, _, number = request.target.strip("/").partition("/")
        if kind == "robots.txt":
            return Response(status=404)
        if not kind:
            links = [f"/list/{n}" for n in range(self.lists)]
        elif kind == "list":
            first = int(number) * PAGES_PER_LIST
            links = [f"/page/{n}" for n in range(first, min(first + PAGES_PER_LIST, self.per_host))]
        else:
            links = []
        items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
        random = Random(f"{request.address}{request.target}")
        prose = "".join(f"<p>{' '.join(random.choices(WORDS, k=60)).capitalize()}.</p>" for _ in range(6))
        body = (
            f"<html><head><title>{request.target}</title></head><body><ul>{items}</ul>{prose}</body></html>"
        )
        return Response(
            status=200, headers=(("Content-Type", "text/html; charset=utf-8"),), body=body.encode()
        )

    def least_gap_s(self) -> float:
        """Return the shortest time between two requests of a host."""
        times: dict[str, list[float]] = {}
        for host, _, at in self.log:
            times.setdefault(host, []).append(at)
        return min(after - before for each in times.values() for before, after in pairwise(each))


WORDS = """
river stone lantern market winter copper garden letter bridge harbour engine paper window silver mountain teacher
village autumn captain mirror basket thunder orchard candle pocket island forest blanket whistle compass the a of and
to in that it was for on with as at by from this which when there their more into over under after
""".split()  # noqa: SIM905 - a list that reads as text
