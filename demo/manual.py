"""Write the manual of a library that does not exist: reference pages, which filters drop, and guides, which they keep.

The words come from `banks/manual.txt`. Most pages list functions, classes or measures, and say the same of each, as
such pages do on the real web. Every page links to the index and to other pages.
"""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from random import Random

from demo.bank import BANKS, read_sections
from demo.site import Site

_FUNCTIONS, _METHODS, _MEASURES, _RELATED = 14, 9, 24, 6


class _Manual:
    """The words of the bank, and the random numbers that choose among them."""

    def __init__(self, file: Path, rng: Random) -> None:
        sections = read_sections(file)
        words = {name: " ".join(lines).split() for name, lines in sections.items()}
        self.modules, self.verbs, self.nouns = words["module"], words["verb"], words["noun"]
        self.units, self.reference = sections["unit"], sections["reference"]
        self.shared = [line.partition(": ")[::2] for line in sections["shared"]]
        self.guides = {
            heading.removeprefix("guide ").partition(": ")[::2]: lines
            for heading, lines in sections.items()
            if heading.startswith("guide ")
        }
        self.rng = rng

    def functions(self, module: str) -> str:
        """Return a list of functions, with a line on each."""
        names = [f"{verb}_{self.rng.choice(self.nouns)}" for verb in self.rng.sample(self.verbs, _FUNCTIONS)]
        items = "\n".join(
            f"<dt><code>{module}.{name}</code></dt><dd>{self._line(module)}</dd>" for name in names
        )
        return f"<h2>Functions</h2>\n<dl>\n{items}\n</dl>\n"

    def classes(self, module: str) -> str:
        """Return two classes, with the methods of their own and those that all classes share."""
        parts = []
        for name in (module.title(), f"{self.rng.choice(self.nouns).title()}{module.title()}"):
            own = "\n".join(
                f"<dt><code>{verb}(self)</code></dt><dd>{self._line(module)}</dd>"
                for verb in self.rng.sample(self.verbs, _METHODS)
            )
            shared = "\n".join(
                f"<p><code>{method}(self)</code></p>\n<p>{text}</p>" for method, text in self.shared
            )
            parts.append(
                f"<h2>class {name}(Part)</h2>\n<dl>\n{own}\n</dl>\n<h3>Methods of Part</h3>\n{shared}\n"
            )
        return "".join(parts)

    def measures(self, module: str) -> str:
        """Return a table of measures."""
        head = "".join(f"<th>{name}</th>" for name in ("name", "least", "most", "step", "unit"))
        rows = "\n".join(
            f"<tr><td>{module.upper()}_{noun.upper()}</td><td>{self.rng.randint(1, 99)}</td>"
            f"<td>{self.rng.randint(100, 99_999)}</td><td>{self.rng.randint(1, 9)}</td>"
            f"<td>{self.rng.choice(self.units)}</td></tr>"
            for noun in self.rng.sample(self.nouns, _MEASURES)
        )
        return f"<h2>Measures</h2>\n<table>\n<tr>{head}</tr>\n{rows}\n</table>\n"

    def related(self, module: str) -> str:
        """Return links to other modules."""
        others = [name for name in self.modules if name != module]
        names = sorted(self.rng.sample(others, _RELATED))
        return f"<p>See also: {', '.join(_link(name) for name in names)}.</p>\n"

    def _line(self, module: str) -> str:
        noun, other = self.rng.sample(self.nouns, 2)
        line = self.rng.choice(self.reference)
        return line.format(noun=noun, other=other, module=module, unit=self.rng.choice(self.units))


def manual(site: Site, rng: Random) -> None:
    """Write the host: an index, a page for each module, and the guides."""
    site.file("/robots.txt", "text/plain", b"User-agent: *\nDisallow: /search\n", linked=False)
    words = _Manual(BANKS / "manual.txt", rng)
    kinds: Sequence[Callable[[str], str]] = (words.functions, words.classes, words.measures)
    for number, module in enumerate(words.modules):
        body = f"<h1>{module}</h1>\n{kinds[number % len(kinds)](module)}{words.related(module)}"
        site.page(f"/{module}.html", _page(f"Module {module}", body))
    for (name, title), paragraphs in words.guides.items():
        text = "\n".join(f"<p>{escape(paragraph, quote=False)}</p>" for paragraph in paragraphs)
        site.page(f"/{name}.html", _page(title, f"<h1>{title}</h1>\n{text}\n"))
    guides = "\n".join(f'<li><a href="{name}.html">{title}</a></li>' for name, title in words.guides)
    items = "\n".join(f"<li>{_link(module)}</li>" for module in words.modules)
    body = f"<h1>Library</h1>\n<ul>\n{guides}\n</ul>\n<h2>Modules</h2>\n<ul>\n{items}\n</ul>\n"
    site.page("/", _page("Index of modules", body))


def _link(module: str) -> str:
    return f'<a href="{module}.html">{module}</a>'


def _page(title: str, body: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f'<body><p class="nav"><a href="./">Index of modules</a></p>\n{body}\n</body></html>\n'
    )
