"""`Web`: some hosts with pages that link to each other, drawn from a seed; and what its servers saw.

Every page is linked from another one or named in a sitemap, so all of it can be reached.
"""

from dataclasses import dataclass, field
from random import Random

from tests.simulator.process import Process, Trap
from tests.simulator.world import World
from thresher.core import Url

ADDRESSES = ("192.0.2.1", "192.0.2.2")


@dataclass(slots=True, kw_only=True)
class Page:
    """What a server says, when it is well."""

    status: int = 200
    links: list[str] = field(default_factory=list)
    location: str = ""
    text: str = ""
    fails: int = 0
    """How often it says 503 first."""
    resets: int = 0
    """How often it breaks the connection off before that."""


@dataclass(slots=True, kw_only=True)
class Request:
    """What a server saw."""

    host: str
    address: str
    path: str
    begun: float
    ended: float
    by: Process


class Web:
    """The hosts of one run."""

    def __init__(self, world: World, random: Random) -> None:
        self.world = world
        self.pages: dict[str, Page] = {}
        self.robots: dict[str, Page] = {}
        self.addresses: dict[str, str] = {}
        self.requests: list[Request] = []
        self.traps: list[Trap] = []
        """What befalls who is about to ask."""
        self.hosts = [f"h{number}.test" for number in range(random.randint(1, 4))]
        for host in self.hosts:
            self._host(host, random)
        self._lead_on(random)

    @property
    def seeds(self) -> list[str]:
        """The first page of every host."""
        return [f"http://{host}/" for host in self.hosts]

    def _host(self, host: str, random: Random) -> None:
        self.addresses[host] = random.choice(ADDRESSES)
        for number in range(random.randint(1, 12)):
            url = f"http://{host}/{number or ''}"
            self.pages[url] = _page(url, number, random)
        rules = Page(text="User-agent: *\nDisallow: /private\n")
        match random.randint(1, 6):
            case 1:
                rules.status = 404
            case 2:
                rules.fails = 1
            case 3:
                rules.text += "Crawl-delay: 0.4\n"
            case 4:
                listed = [f"http://{host}/listed/{number}" for number in range(random.randint(1, 3))]
                for url in listed:
                    self.pages[url] = Page(text=f"Only a sitemap leads to {url}.")
                self.pages[f"http://{host}/sitemap.xml"] = Page(links=listed)
                rules.text += f"Sitemap: http://{host}/sitemap.xml\n"
        self.robots[host] = rules

    def _lead_on(self, random: Random) -> None:
        """Every page is linked from one before it that has links; others at will."""
        leads: list[str] = []
        for url, page in self.pages.items():
            if url.endswith("sitemap.xml"):
                continue
            if "/listed/" not in url and url not in self.seeds:
                own = [each for each in leads if random.random() < 0.3] or [random.choice(leads)]
                for each in own:
                    self.pages[each].links.append(url)
            if page.status == 200:
                leads.append(url)
        for url in leads:
            if random.random() < 0.1:
                self.pages[url].links.append(
                    f"http://{random.choice(self.hosts)}/private/{random.randint(0, 3)}"
                )

    def answer(self, url: Url) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """What the server of a URL answers now; None where it breaks the connection off."""
        page = self.robots.get(url.host) if url.text.endswith("/robots.txt") else self.pages.get(url.text)
        if page is None:
            return 404, [], b""
        if page.resets:
            page.resets -= 1
            return None
        if page.fails:
            page.fails -= 1
            return 503, [], b""
        if page.status != 200:
            return page.status, [("Location", page.location)] if page.location else [], b""
        if page is self.robots.get(url.host):
            return 200, [("Content-Type", "text/plain")], page.text.encode()
        if url.text.endswith(".xml"):
            listed = "".join(f"<url><loc>{each}</loc></url>" for each in page.links)
            namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
            body = f'<?xml version="1.0"?><urlset xmlns="{namespace}">{listed}</urlset>'
            return 200, [("Content-Type", "application/xml")], body.encode()
        anchors = "".join(f'<a href="{each}">on</a> ' for each in page.links)
        body = f"<html><head><title>{url.text if page.links else 'a page'}</title></head><body><p>{page.text}</p>{anchors}</body></html>"
        return 200, [("Content-Type", "text/html")], body.encode()


def _page(url: str, number: int, random: Random) -> Page:
    """The first one of a host is well."""
    page = Page(text=f"The text of {url} says this and no more. " * random.randint(1, 4))
    match random.randint(1, 20) if number else 20:
        case 1:
            page.status = 404
        case 2 | 3:
            page.status, page.location = 302, f"{url.rpartition('/')[0]}/{random.randint(0, number)}"
        case 4:
            page.fails = random.randint(1, 2)
        case 5:
            page.resets = 1
        case 6:
            page.text = "Many pages say just this."
    return page
