"""Real documentation of Debian packages as web sites on loopback, and the pages that a crawl of them must find.

usage: python bench/crawler/sites.py --dir DIR PKG...             serve until SIGTERM; prints one seed URL per line
       python bench/crawler/sites.py --dir DIR PKG... --count     count the reachable pages instead of serving
                             [--list FILE]                and write their URLs, one per line, sorted

Packages that are not in DIR are downloaded with apt-get and unpacked there. Every package is one host (127.19.0.1 and
up, in the order given). The root of the host is the package's own root directory, so every link that stays inside the
package resolves. Entry pages come from ../shared/data/sites-debian.tsv.

The count is a breadth-first search over the files that shares no code with Thresher: Python's urljoin instead of the
WHATWG parser, and one simple walk instead of a frontier. It follows a and area href, iframe and frame src, and link rel
next, prev, canonical, index, contents, and alternate with hreflang. It obeys `<base href>` and a robots meta with
nofollow. URLs are compared without fragment and empty query, with escapes of unreserved characters decoded (RFC 3986,
6.2.2).
"""

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path
from urllib.parse import quote, urldefrag, urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from demo.static import DirectoryRedirect, content_type, locate, serve  # noqa: E402
from thresher.core.errors import InputError, ThresherError  # noqa: E402 - a script finds the packages only now

LIST = ROOT.parent / "shared" / "data" / "sites-debian.tsv"
PORT = 8190
"""Fixed, because the URLs of --count must be those that are served."""
LINKS = (
    ("a[href], area[href]", "href"),
    ("iframe[src], frame[src]", "src"),
    (
        ", ".join(f"link[rel~={rel}][href]" for rel in ("next", "prev", "canonical", "index", "contents")),
        "href",
    ),
    (
        "link[rel~=alternate][hreflang][href]",
        "href",
    ),
)
HTML = {"text/html", "application/xhtml+xml"}
EMPTY = re.compile(r"(?<=[^:/])/{2,}")
UNRESERVED = re.compile(r"%(2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])")


def main() -> None:
    """Serve, or count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="+", metavar="PKG")
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--log", type=Path, help="append one line per request to this file")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--list", type=Path)
    args = parser.parse_args()
    try:
        entries = entry_pages(args.packages)
        trees = {f"127.19.0.{number}": unpack(args.dir, e) for number, e in enumerate(args.packages, 1)}
        if args.count:
            seeds = seed_urls(trees, entries, args.port)
            found = {
                seed: reachable(folder, seed) for seed, folder in zip(seeds, trees.values(), strict=True)
            }
            for package, (seed, pages) in zip(args.packages, found.items(), strict=True):
                print(json.dumps({"package": package, "seed": seed, "pages": len(pages)}))
            if args.list:
                args.list.write_text("".join(f"{url}\n" for url in sorted(set().union(*found.values()))))
        else:
            serve(
                trees,
                port=args.port,
                ready=lambda port: print("\n".join(seed_urls(trees, entries, port)), flush=True),
                log=args.log,
                attached=False,
            )
    except ThresherError as error:
        sys.exit(f"sites: {error}")


def entry_pages(packages: list[str]) -> list[str]:
    """Return the entry page of every package, below the package's root."""
    with LIST.open(newline="") as stream:
        known = {row["package"]: row["entry_page"] for row in csv.DictReader(stream, delimiter="\t")}
    for package in packages:
        if not known.get(package):
            raise InputError(f"no entry page for {package!r} in {LIST.name}; choose a package that has one")
    return [known[package] for package in packages]


def unpack(directory: Path, package: str) -> Path:
    """Return the folder with the package's files. Download and unpack the package if it is missing."""
    folder = directory.resolve() / package
    if not folder.is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as fresh:
            run("apt-get", "download", package, cwd=fresh)
            (deb,) = Path(fresh).glob("*.deb")
            run("dpkg-deb", "-x", str(deb), f"{fresh}/{package}", cwd=fresh)
            Path(fresh, package).rename(folder)
    return folder


def run(*words: str, cwd: str) -> None:
    """Run a command. Show its errors to the user, and drop its output."""
    # apt's unprivileged user cannot write into our directory, and prints long complaints.
    quiet = ["-o", "APT::Sandbox::User=root"] if words[0] == "apt-get" else []
    done = subprocess.run([words[0], *quiet, *words[1:]], cwd=cwd, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise InputError(f"{' '.join(words)} failed with {done.returncode}; see its message above")


def seed_urls(trees: dict[str, Path], entries: list[str], port: int) -> list[str]:
    """Return the URL of every entry page."""
    return [f"http://{address}:{port}/{quote(e)}" for address, e in zip(trees, entries, strict=True)]


def reachable(folder: Path, seed: str) -> set[str]:
    """Return the URLs of the HTML pages that can be reached from the seed without leaving its host."""
    origin, root = urlsplit(seed)[:2], str(folder.resolve())
    pages: set[str] = set()
    seen, waiting = {seed}, deque([seed])
    while waiting:
        url = waiting.popleft()
        parts = urlsplit(url)
        found = locate(root, parts.path + (f"?{parts.query}" if parts.query else ""))
        if isinstance(found, DirectoryRedirect):
            links = [urljoin(url, found.location)]
        elif found and content_type(found) in HTML:
            pages.add(url)
            links = linked(Path(found).read_bytes(), url)
        else:
            continue
        for link in links:
            if urlsplit(link)[:2] == origin and link not in seen:
                seen.add(link)
                waiting.append(link)
    return pages


def linked(body: bytes, url: str) -> list[str]:
    """Return the links of a page, absolute and in the form in which URLs are compared."""
    tree = LexborHTMLParser(body.decode("utf-8", "replace"))
    metas = [
        node
        for node in tree.css("meta[name][content]")
        if (node.attributes["name"] or "").lower() == "robots"
    ]
    if any(
        re.search(r"\b(nofollow|none)\b", node.attributes["content"] or "", re.IGNORECASE) for node in metas
    ):
        return []
    base = tree.css_first("base[href]")
    base_url = urljoin(url, (base.attributes["href"] or "").strip()) if base else url
    found = []
    for selector, attribute in LINKS:
        for node in tree.css(selector):
            if value := node.attributes[attribute]:
                try:
                    found.append(comparable(join_url(base_url, re.sub(r"[\t\n\r]", "", value.strip()))))
                except ValueError:
                    continue  # not a URL; our crawler refuses it as well
    return found


def join_url(base: str, reference: str) -> str:
    """Join as urljoin, but keep empty segments (`a//b`) as RFC 3986, section 5.2 does; Python drops them."""
    return urljoin(mark_empty(base), mark_empty(reference)).replace("\ue000", "")


def mark_empty(text: str) -> str:
    """Put a character into each empty segment of a path."""
    return EMPTY.sub(lambda match: "/\ue000" * (len(match[0]) - 1) + "/", text)


def comparable(url: str) -> str:
    """Return one form for all spellings of a URL."""
    url = urldefrag(url).url
    url = quote(url, safe="%:/?#[]@!$&'()*+,;=-._~|")
    url = UNRESERVED.sub(lambda match: chr(int(match[1], 16)), url)
    url = re.sub(r"%[0-9a-f]{2}", lambda match: match[0].upper(), url, flags=re.IGNORECASE)
    return url.removesuffix("?")


if __name__ == "__main__":
    main()
