"""Write a magazine: articles, numbered front pages, topics, an archive, and pages such as the privacy notice."""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal
from urllib.parse import quote

from demo import layout
from demo.article import Article, compose
from demo.bank import Bank
from demo.site import Site

Style = Literal["root", "absolute", "relative", "based"]
"""Style of a host's links: `/a/b`, `http://host/a/b`, `../b`, or `b` relative to a `<base href>`."""

BASE = "/articulos/"
"""Value of `<base href>` on the host that has one."""
_ON_A_PAGE = 10  # articles
_RELATED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MagazinePlan:
    """The properties in which one magazine differs from the others."""

    articles: int
    place: Callable[[int, Article], str]
    """Returns the request target of an article from its number and the article."""
    style: Style
    build: layout.Build
    listing: str
    """Target of the front pages after the first; `{}` stands for the number."""
    content_type: str = "text/html; charset=utf-8"
    meta: str = ""
    """Element with which the pages declare their charset."""
    compressed: bool = False


@dataclass(slots=True, kw_only=True)
class Magazine:
    """A magazine that is being written; `entries` grows with every article."""

    site: Site
    bank: Bank
    plan: MagazinePlan
    rng: Random
    friends: layout.Links
    entries: list[tuple[str, Article]] = field(default_factory=list)
    """Request target and text of every article, without copies."""
    extras: list[tuple[str, str]] = field(default_factory=list)
    """More links for the archive: target and text."""

    def href(self, here: str, there: str) -> str:
        """Return the href of a link from the page at `here` to `there`."""
        if not there.startswith("/"):
            return there
        match self.plan.style:
            case "absolute":
                return self.site.url(there)
            case "relative":
                return relative(here, there)
            case "based":
                return relative(BASE, there)
            case _:
                return there

    def frame(self, here: str, head: str = "", build: layout.Build | None = None) -> layout.PageFrame:
        """Return the frame of the page at `here`."""
        labels, picture = self.bank.labels, "/images/lamp.png"
        base = f'<base href="{BASE}">\n' if self.plan.style == "based" else ""

        def seen(links: Sequence[tuple[str, str]]) -> layout.Links:
            return [(self.href(here, target), text) for target, text in links]

        topics = [(f"/topic/{topic.key}", topic.name) for topic in self.bank.topics]
        footer = [(f"/{name}.html", labels[name]) for name in ("about", "terms", "privacy", "archive")]
        return layout.PageFrame(
            labels=labels,
            build=build or self.plan.build,
            home=self.href(here, "/"),
            navigation=seen([("/", labels["home"]), *topics]),
            sidebar=seen([(target, text.title) for target, text in self.entries[:5]]),
            friends=self.friends,
            footer=[*seen(footer), ("mailto:desk@magazine.example", labels["contact"])],
            head=f"{self.plan.meta}{base}{head}",
            picture=self.href(here, picture),
        )

    def write(self) -> None:
        """Add the articles and every page that lists them; quirks may be added before and after."""
        for number, (target, text) in enumerate(self.entries):
            self.put(target, self.article(number, target, text))
            self.site.languages[self.site.url(target)] = text.language
        for topic in self.bank.topics:
            of_topic = [entry for entry in self.entries if entry[1].topic == topic.key]
            self._list(f"/topic/{topic.key}", topic.name, of_topic)
        pages = [self.entries[at : at + _ON_A_PAGE] for at in range(0, len(self.entries), _ON_A_PAGE)]
        for number, entries in enumerate(pages, 1):
            target = self._front(number)
            turn = [(self._front(number - 1), self.bank.labels["previous"])] if number > 1 else []
            turn += [(self._front(number + 1), self.bank.labels["next"])] if number < len(pages) else []
            turn += [
                (self._front(other), str(other)) for other in range(1, len(pages) + 1) if other != number
            ]
            self._list(target, f"{self.bank.labels['latest']} {number}", entries, turn)
        self._archive()
        for name, kind in (("about", "house"), ("terms", "rules"), ("privacy", "rules")):
            target = f"/{name}.html"
            main = f"<h1>{self.bank.labels[name]}</h1>\n<p>{self.bank.labels[kind]}</p>\n"
            main += f"<p>{self.bank.labels['consent']}</p>\n" if name == "privacy" else ""
            self.put(target, layout.page(self.frame(target), self.bank.labels[name], main))

    def article(self, number: int, target: str, text: Article, build: layout.Build | None = None) -> str:
        """Return the page of an article; the links below it lead to the next articles."""
        after = [self.entries[(number + step) % len(self.entries)] for step in range(1, _RELATED + 1)]
        related = [(f"{self.href(target, other)}#text", said.title) for other, said in after]
        name = next(topic.name for topic in self.bank.topics if topic.key == text.topic)
        canonical = f'<link rel="canonical" href="{self.site.url(self.entries[number][0])}">\n'
        frame = self.frame(target, head=canonical, build=build)
        return layout.article(frame, text, (self.href(target, f"/topic/{text.topic}"), name), related)

    def put(self, target: str, html: str) -> None:
        """Add a page in the style of this magazine, unless its target already has one."""
        if target not in self.site.answers:
            self.site.page(target, html, content_type=self.plan.content_type, compressed=self.plan.compressed)

    def _front(self, number: int) -> str:
        return "/" if number == 1 else self.plan.listing.format(number)

    def _list(
        self, target: str, title: str, entries: Sequence[tuple[str, Article]], turn: layout.Links = ()
    ) -> None:
        frame = self.frame(target)
        teasers = layout.teasers(frame, [(self.href(target, there), text) for there, text in entries])
        pager = layout.menu([(self.href(target, there), text) for there, text in turn]) if turn else ""
        self.put(target, layout.page(frame, title, f"<h1>{title}</h1>\n{teasers}\n{pager}"))

    def _archive(self) -> None:
        target, title = "/archive.html", self.bank.labels["archive"]
        every = [*((there, text.title) for there, text in self.entries), *self.extras]
        links = layout.menu([(self.href(target, there), text) for there, text in every])
        self.put(target, layout.page(self.frame(target), title, f"<h1>{title}</h1>\n{links}"))


def compose_magazine(
    site: Site, bank: Bank, plan: MagazinePlan, rng: Random, friends: layout.Links
) -> Magazine:
    """Return a magazine with composed articles, whose topics take turns, and without any page yet."""
    magazine = Magazine(site=site, bank=bank, plan=plan, rng=rng, friends=friends)
    taken: set[str] = set()
    for number in range(plan.articles):
        topic = bank.topics[number % len(bank.topics)]
        text = compose(bank, topic, rng)
        target = plan.place(number, text)
        while text.title in taken:
            text = compose(bank, topic, rng)
            target = plan.place(number, text)
        taken.add(text.title)
        magazine.entries.append((target, text))
    labels = bank.labels
    blank = replace(magazine.frame("/"), sidebar=(), build="semantic")
    site.not_found = layout.page(blank, labels["lost"], f"<h1>{labels['lost']}</h1>\n")
    return magazine


def relative(here: str, there: str) -> str:
    """Return the shortest reference from one request target to another."""
    path, question, query = there.partition("?")
    folder = posixpath.dirname(here.partition("?")[0])
    found = posixpath.relpath(path, folder)
    slash = "/" if path.endswith("/") and not found.endswith("/") else ""
    return f"{found}{slash}{question}{query}"


PLANS: Mapping[str, MagazinePlan] = {
    "en": MagazinePlan(
        articles=72,
        place=lambda number, text: f"/articles/{ascii_slug(text)}.html",  # noqa: ARG005 - of one signature
        style="root",
        build="semantic",
        listing="/page/{}",
    ),
    "de": MagazinePlan(
        articles=44,
        place=lambda number, text: f"/beitrag/{ascii_slug(text)}/",  # noqa: ARG005
        style="relative",
        build="soup",
        listing="/seite/{}/",
        content_type="text/html",
        meta='<meta charset="utf-8">\n',
    ),
    "fr": MagazinePlan(
        articles=40,
        place=lambda number, text: f"/article.php?id={100 + number}",  # noqa: ARG005
        style="absolute",
        build="semantic",
        listing="/?page={}",
    ),
    "es": MagazinePlan(
        articles=40,
        place=lambda number, text: f"{BASE}{text.date[:4]}/{quote(text.slug)}",  # noqa: ARG005
        style="based",
        build="soup",
        listing="/pagina/{}",
        compressed=True,
    ),
}
"""The four magazines, by language."""


def ascii_slug(text: Article) -> str:
    """Return the title as a part of a URL, in ASCII letters."""
    folded = text.slug
    for umlaut, plain in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
        folded = folded.replace(umlaut, plain)
    return "".join(letter for letter in folded if letter.isascii())
