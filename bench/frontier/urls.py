"""Generate URLs that look like links of real pages: number -> URL, the same on every machine. Standard library only.

The lengths of path and query are those of 20,850 distinct links of seven documentation sites and of the sites that they
link to (quantiles below, mean 58 characters). One URL in fourteen has a query. Hosts follow a Zipf-like law: the host
of rank r has a share of 1 / (r + 10)^0.9, and each host has at least one URL.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

LENGTHS = (1, 12, 22, 30, 45, 50, 53, 55, 57, 59, 60, 62, 64, 66, 68, 71, 75, 80, 85, 92, 130)
WORDS = [
    "about",
    "api",
    "archive",
    "article",
    "blog",
    "book",
    "catalog",
    "category",
    "docs",
    "download",
    "en",
    "event",
    "forum",
    "guide",
    "html",
    "image",
    "issue",
    "item",
    "library",
    "list",
    "manual",
    "media",
    "module",
    "news",
    "page",
    "paper",
    "post",
    "product",
    "profile",
    "project",
    "reference",
    "release",
    "report",
    "review",
    "search",
    "section",
    "static",
    "story",
    "support",
    "tag",
    "team",
    "thread",
    "topic",
    "tutorial",
    "user",
    "version",
    "wiki",
]
ENDINGS = (
    ".html",
    ".html",
    ".html",
    ".html",
    "",
    "",
    "",
    "/",
    ".php",
    ".pdf",
    ".htm",
    "/index.html",
    "?page=2",
)
SHAPES = 4096
SERIAL = 7  # characters of the number that makes a URL unique


class Urls:
    """`count` URLs of `hosts` hosts; those of one host have consecutive numbers."""

    def __init__(self, count: int, hosts: int, seed: int = 1) -> None:
        self.count = count
        self.hosts = hosts
        draw = random.Random(seed)
        self._shapes = [_shape(draw, LENGTHS) for _ in range(SHAPES)]
        weights = [(rank + 10) ** -0.9 for rank in range(hosts)]
        spare, whole = count - hosts, sum(weights)
        ends = [rank + 1 + round(spare * sum_ / whole) for rank, sum_ in enumerate(accumulate(weights))]
        self._ends = ends
        order = list(range(hosts))
        draw.shuffle(order)
        self._names = order

    def host(self, rank: int) -> str:
        """Return the name of the host of a rank; each host is a registered domain of its own."""
        return f"www.{WORDS[rank % len(WORDS)]}{self._names[rank]}.com"

    def rank(self, number: int) -> int:
        """Return the rank of the host of a URL."""
        return bisect_right(self._ends, number)

    def first(self, rank: int) -> int:
        """Return the number of the first URL of a host."""
        return self._ends[rank - 1] if rank else 0

    def path(self, number: int, like: int | None = None) -> str:
        """Return path and query of a URL. If `like` is given, they have the shape of that URL and lie in its folder."""
        before, after = self._shapes[(number if like is None else like) * 2_654_435_761 % SHAPES]
        return f"{before}{number:07x}{after}"

    def url(self, number: int) -> str:
        """Return the whole URL."""
        return f"https://{self.host(self.rank(number))}{self.path(number)}"

    def shuffled_numbers(self) -> Iterator[int]:
        """Yield all numbers in an order that mixes the hosts."""
        step = 7_368_787  # a prime, so it has no common divisor with any smaller count
        assert self.count % step, "choose another count"
        return (number * step % self.count for number in range(self.count))

    def depth(self, number: int) -> int:
        """Return the number of links from the seed: a host is found from its front page on, the widest levels last."""
        return (number - self.first(self.rank(number))).bit_length() // 3

    def by_page(self, links: int, seed: int = 2) -> Iterator[int]:
        """Yield all numbers, up to `links` of one host in a row, like the links of a page; those of a host in order."""
        ranks = [rank for rank in range(self.hosts) for _ in range(self.first(rank), self._ends[rank], links)]
        random.Random(seed).shuffle(ranks)
        at = [self.first(rank) for rank in range(self.hosts)]
        for rank in ranks:
            end = min(at[rank] + links, self._ends[rank])
            yield from range(at[rank], end)
            at[rank] = end


def _shape(draw: random.Random, lengths: Sequence[int]) -> tuple[str, str]:
    """Return the parts of a URL before and after its number."""
    place = draw.random() * (len(lengths) - 1)
    low = int(place)
    length = round(lengths[low] + (place - low) * (lengths[low + 1] - lengths[low]))
    ending = draw.choice(ENDINGS)
    before = "/"
    while len(before) < length - SERIAL - len(ending) - 4:
        before += draw.choice(WORDS) + draw.choice("///-_")
    return before, ending
