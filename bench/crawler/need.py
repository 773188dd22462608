"""How well `render_need` tells pages that scripts build from pages that scripts only accompany.

usage: python bench/crawler/need.py FOLDER [--pages PAGES.tar.zst] [--show]

The first run fills FOLDER: it downloads packages of npm (`PACKAGES`) and of Debian (`SITES`, as root or not, with
`apt-get download`), makes the pages of `need_pages.py`, takes `PAGES_A_SITE` pages of each Debian site, and opens every
page twice in Chromium, without scripts and with them. Later runs read `FOLDER/labelled.jsonl`.

A page *needs* its scripts if with them
- its visible text (open shadow roots included) has at least `MIN_TEXT` characters in lines that it lacks without
  them, and these are at least `MIN_SHARE` of all; or
- it has `MIN_LINKS` links that it lacks without them, at least half of all; or
- the tab is at another URL.

What scripts add to `MENU_PAGES` of the pages of one Debian site (a menu, a footer) is furniture and does not count, and
neither does a line or a link that any page of that site has without scripts: it is not lost. A redirect counts as found
too if the plain page's links have its target.

The set is split by site and by framework: `tuned` is the part that the rules were fitted to, `apart` the part that they
were not. Prints one JSON line: for each part `recall`, the share of the pages in need that are found, and `needless`,
the share of all others that would be rendered; `cpu_us`, microseconds of one decision over all pages. With --pages the
same is measured on a tar of pages of the open web: `web_needless` there is the share of all, and an upper bound.
"""

import argparse
import asyncio
import functools
import json
import operator
import random
import re
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.crawler.need_pages import pages
from thresher.crawler.reading.script_redirects import script_redirects
from thresher.crawler.render.chromium.browser import start_browser
from thresher.crawler.render.chromium.program import find_browser
from thresher.crawler.render.render_need import render_need
from thresher.extract.references import unescape

PACKAGES = [
    "react@18",
    "react-dom@18",
    "vue@3",
    "preact@10",
    "alpinejs@3",
    "jquery@3",
    "mithril@2",
    "knockout@3",
    "lit@3",
    "solid-js@1",
    "svelte@4",
    "angular@1",
    "backbone@1",
    "underscore@1",
    "petite-vue@0",
    "inferno@8",
    "esbuild@0.21",
    "@angular/core@17",
    "@angular/compiler@17",
    "@angular/platform-browser@17",
    "@angular/common@17",
    "rxjs@7",
    "zone.js@0.14",
    "tslib@2",
]
SITES = {
    "tuned": [
        "python-scrapy-doc",
        "python-flask-doc",
        "libsfml-doc",
        "libgtk-3-doc",
        "libcommons-lang3-java-doc",
        "git-doc",
        "libghc-aeson-doc",
        "apache2-doc",
        "debian-policy",
        "libsdl2-doc",
        "mkdocs-doc",
        "qtdeclarative5-doc-html",
    ],
    "apart": [
        "python-sqlalchemy-doc",
        "ant-doc",
        "libsvn-doc",
        "geographiclib-doc",
        "libglib2.0-doc",
        "postgresql-doc-15",
        "libghc-yesod-doc",
        "python-django-doc",
        "glance-doc",
        "swi-prolog-doc",
        "tomcat10-docs",
        "nodejs-doc",
    ],
}
PAGES_A_SITE = 12
MIN_TEXT, MIN_SHARE, MIN_LINKS = 120, 0.3, 3
MENU_PAGES = 3
"""Pages of a Debian site from which on what scripts add to them is a menu."""
SETTLE_MS = 400
"""Milliseconds without change after which a page counts as done; the files of all pages are at hand."""
VISIBLE = """() => { const lines = [], links = []; const read = root => { for (const each of
root.querySelectorAll('*')) { if (each.shadowRoot) { for (const child of each.shadowRoot.children)
lines.push(child.innerText || ''); read(each.shadowRoot) } }
for (const a of root.querySelectorAll('a[href]')) links.push(a.href) }; read(document);
lines.push(document.body ? document.body.innerText : ''); return [lines.join('\\n'), links, location.href] }"""


def prepare(folder: Path) -> None:
    """Download packages and sites, and compile the applications."""
    packages = folder / "npm"
    if not (packages / "done").exists():
        packages.mkdir(parents=True, exist_ok=True)
        (packages / "package.json").write_text('{"private": true}')
        install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
        subprocess.run(install, cwd=packages, check=True, stdout=sys.stderr)
        script = Path(__file__).with_name("need_apps.mjs")
        subprocess.run(["node", script, packages, packages / "node_modules" / "apps"], check=True)
        (packages / "done").touch()
    for site in functools.reduce(operator.iadd, SITES.values(), []):
        if not (folder / "sites" / site).exists():
            (folder / "debs").mkdir(exist_ok=True)
            subprocess.run(["apt-get", "download", site], cwd=folder / "debs", check=True, stdout=sys.stderr)
            package = next((folder / "debs").glob(f"{site}_*.deb"))
            subprocess.run(["dpkg-deb", "-x", package, folder / "sites" / site], check=True)


class Files:
    """The files that pages may request, by URL: every site is a host of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, dict[str, str]] = {}

    def add(self, host: str, files: dict[str, str]) -> None:
        """Let a host have files."""
        self._made[host] = files

    def read(self, url: str) -> bytes | None:
        """Return what a URL holds; None if there is no such file."""
        parts = urlsplit(url)
        host, path = parts.hostname or "", unquote(parts.path)
        if host in self._made:
            if path.startswith("/lib/"):
                return (self._folder / "npm" / "node_modules" / path[len("/lib/") :]).read_bytes()
            made = self._made[host].get(path)
            return None if made is None else made.encode()
        file = self._folder / "sites" / host.removesuffix(".test") / path.lstrip("/")
        return file.read_bytes() if file.is_file() else None


def gather(folder: Path, files: Files) -> Iterator[dict[str, str]]:
    """Yield all pages: part, site, URL."""
    for part, sites in SITES.items():
        for page in pages(part):
            host = f"{page.name}.test"
            files.add(host, {"/": page.html, **page.files})
            yield {"part": part, "site": page.site, "url": f"http://{host}/"}
        for site in sites:
            root = folder / "sites" / site
            found = sorted(each for each in root.rglob("*.html") if each.is_file() and not each.is_symlink())
            for each in random.Random(site).sample(found, min(PAGES_A_SITE, len(found))):
                yield {"part": part, "site": site, "url": f"http://{site}.test/{each.relative_to(root)}"}


async def look(context, url: str, files: Files, *, with_scripts: bool):
    """Return text, links and final URL of a page in a fresh tab."""

    async def serve(route):
        body = files.read(route.request.url)
        if body is None:
            await route.abort()
            return
        ending = Path(urlsplit(route.request.url).path).suffix
        kinds = {
            ".js": "text/javascript",
            ".css": "text/css",
            ".json": "application/json",
            ".svg": "image/svg+xml",
        }
        await route.fulfill(body=body, content_type=kinds.get(ending, "text/html"))

    tab = await context.new_page()
    try:
        await tab.route("**/*", serve)
        await tab.goto(url, wait_until="load", timeout=20_000)
        if with_scripts:
            await tab.wait_for_timeout(SETTLE_MS)
        return await tab.evaluate(VISIBLE)
    finally:
        await tab.close()


async def observe(every: list[dict[str, str]], files: Files) -> list[dict]:
    """Return every page with what it shows without scripts and with them."""
    browser = await start_browser(find_browser(""), sandbox=False)
    seen = []
    try:
        plain = await browser.chromium.new_context(java_script_enabled=False)
        full = await browser.chromium.new_context()
        turns = asyncio.Semaphore(3)

        async def one(page):
            async with turns:
                try:
                    before = await look(plain, page["url"], files, with_scripts=False)
                    after = await look(full, page["url"], files, with_scripts=True)
                except Exception as error:  # noqa: BLE001 - a page that cannot be seen is left out, and said
                    print(page["url"], str(error).splitlines()[0], file=sys.stderr)
                    return
                seen.append({**page, "before": before, "after": after})
                if len(seen) % 50 == 0:
                    print(len(seen), file=sys.stderr)

        await asyncio.gather(*(one(page) for page in every))
    finally:
        await browser.stop()
    return sorted(seen, key=lambda page: page["url"])


HREF = re.compile(rb"""href=["']?([^"'#> ]+)""")
RUN = re.compile(rb">([^<>]{1,400})<")


def plain_items(site: str, folder: Path) -> tuple[set[str], set[str]]:
    """Return the runs of text and the links that the pages of a Debian site have without scripts."""
    root = folder / "sites" / site
    texts: set[str] = set()
    links: set[str] = set()
    for page in root.rglob("*.html"):
        base, html = f"http://{site}.test/{page.relative_to(root)}", page.read_bytes()
        hrefs = {href for href in HREF.findall(html) if not href.startswith(b"http")}
        links.update(urljoin(base, href.decode("latin-1")) for href in hrefs)
        texts.update(unescape(run.decode(errors="replace")).strip() for run in set(RUN.findall(html)))
    return texts, links


def label(seen: list[dict], folder: Path, files: Files) -> Iterator[dict]:
    """Yield each page with its HTML and whether it needs its scripts."""
    added: dict[str, Counter[str]] = {}
    plain: dict[str, tuple[set[str], set[str]]] = {}
    for page in seen:
        added.setdefault(page["site"], Counter()).update(_added(page, 0) | _added(page, 1))
    for page in seen:
        is_site = page["url"].removeprefix("http://").startswith(f"{page['site']}.test/")
        furniture = {each for each, count in added[page["site"]].items() if is_site and count >= MENU_PAGES}
        added_texts, added_links = _added(page, 0) - furniture, _added(page, 1) - furniture
        if is_site and (added_texts or added_links):
            if page["site"] not in plain:
                plain[page["site"]] = plain_items(page["site"], folder)
            texts, links = plain[page["site"]]
            added_texts, added_links = added_texts - texts, added_links - links
        new_text, all_text = sum(map(len, added_texts)), sum(map(len, _items(page["after"], 0) - furniture))
        new_links, all_links = len(added_links), len(_items(page["after"], 1) - furniture)
        target = page["after"][2] if page["after"][2].partition("#")[0] != page["url"] else ""
        needs = (new_text >= MIN_TEXT and new_text >= MIN_SHARE * all_text) or (
            new_links >= MIN_LINKS and new_links >= all_links / 2
        )
        yield {
            **{name: page[name] for name in ("part", "site", "url")},
            "needs": needs or bool(target),
            "target": target,
            "html": (files.read(page["url"]) or b"").decode("latin-1"),
        }


def _items(look_: list, which: int) -> set[str]:
    every = look_[0].split("\n") if which == 0 else [each.partition("#")[0] for each in look_[1]]
    return {each.lstrip("►▼").strip() for each in every} - {""}


def _added(page: dict, which: int) -> set[str]:
    return _items(page["after"], which) - _items(page["before"], which)


def is_found(page: dict, body: bytes) -> bool:
    """Return whether a crawl would render the page, or find the target of its redirect."""
    targets = (urljoin(page["url"], each) for each in script_redirects(body))
    return render_need(body) is not None or (page["target"] != "" and page["target"] in targets)


def score(labelled: list[dict], *, show: bool) -> dict:
    """Return the figures of each part."""
    figures: dict[str, object] = {}
    for part in SITES:
        these = [(page, page["html"].encode("latin-1")) for page in labelled if page["part"] == part]
        needs = [(page, is_found(page, body)) for page, body in these if page["needs"]]
        others = [(page, render_need(body)) for page, body in these if not page["needs"]]
        if show:
            for page, found in needs:
                if not found:
                    print("missed", part, page["url"], page["target"], file=sys.stderr)
            for page, why in others:
                if why:
                    print("needless", part, page["url"], why, file=sys.stderr)
        figures[part] = {
            "pages": len(these),
            "in_need": len(needs),
            "recall": round(sum(found for _, found in needs) / max(1, len(needs)), 4),
            "needless": round(sum(why is not None for _, why in others) / max(1, len(others)), 4),
        }
    bodies = [page["html"].encode("latin-1") for page in labelled]
    figures["cpu_us"] = cpu_us(bodies)
    return figures


def cpu_us(bodies: list[bytes]) -> float:
    """Return the microseconds of CPU that one decision takes, the smallest of three rounds."""
    rounds = []
    for _ in range(3):
        began = time.process_time()
        for body in bodies:
            render_need(body)
        rounds.append((time.process_time() - began) * 1e6 / len(bodies))
    return round(min(rounds), 1)


def open_web(path: Path) -> dict[str, object]:
    """Return the figures of a tar of pages."""
    import zstandard  # noqa: PLC0415 - for this option alone

    with (
        path.open("rb") as file,
        tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(file), mode="r|") as tar,
    ):
        bodies = [tar.extractfile(each).read() for each in tar if each.isfile()]  # type: ignore[union-attr]
    rendered = Counter(render_need(body) for body in bodies)
    share = round(1 - rendered[None] / len(bodies), 4)
    return {"web_pages": len(bodies), "web_needless": share, "web_cpu_us": cpu_us(bodies)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=Path, help="a tar of pages of the open web, packed with Zstandard")
    parser.add_argument("--show", action="store_true", help="list the pages that are decided wrongly")
    options = parser.parse_args()
    folder: Path = options.folder
    listing = folder / "labelled.jsonl"
    if not listing.exists():
        prepare(folder)
        files = Files(folder)
        every = list(gather(folder, files))
        observed = folder / "observed.json"
        if not observed.exists():
            observed.write_text(json.dumps(asyncio.run(observe(every, files))))
        seen = json.loads(observed.read_text())
        listing.write_text("".join(json.dumps(page) + "\n" for page in label(seen, folder, files)))
    labelled = [json.loads(line) for line in listing.read_text().split("\n") if line]
    figures = score(labelled, show=options.show)
    print(json.dumps({**figures, **(open_web(options.pages) if options.pages else {})}))


if __name__ == "__main__":
    main()
