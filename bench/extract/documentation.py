"""Write gold pages of documentation: pages of Debian packages, with the text of the element that the template marks.

usage: python bench/extract/documentation.py --dir DIR --out DATA [--pages K] [--further | --later | PKG ...]

Packages that are not in DIR are downloaded with apt-get and unpacked there. DATA receives `gold.jsonl.zst` and
`pages.tar.zst` in the form of `../shared/data/extraction`, for `bench/extract/main_text.py`. Every package gives K
pages, evenly spaced over its pages in the order of their names. A page counts if its template marks one element as the
content (`TEMPLATES`) and this element has at least `MIN_WORDS` words. Its gold text is all of the element's text
without `FURNITURE`. The source of a page is its package, so `bench/extract/main_text.py` splits documentation by
package.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.crawler.sites import unpack
from bench.extract import gold, scoring
from bench.extract.gold import GoldPage

DOCBOOK = (
    "body > :is(.book, .part, .article, .reference, .preface, .chapter, .appendix, .refentry, .section, .sect1, .sect2"
    ", .sect3, .index, .glossary, .bibliography)"
)
TEMPLATES = {
    **dict.fromkeys(("bind9-doc", "debian-policy", "linux-doc-6.1", "llvm-14-doc", "python-astropy-doc",
                     "python-scrapy-doc", "python3.11-doc"), "div[role=main]"),
    "python-django-doc": "#yui-main",
    **dict.fromkeys(("geographiclib-doc", "libeigen3-doc", "libsdl2-doc", "libsfml-doc"), "div.contents"),
    **dict.fromkeys(("groovy-doc", "libcommons-lang3-java-doc", "openjdk-17-doc", "rust-doc"), "main"),
    **dict.fromkeys(("gimp-help-en", "installation-guide-amd64", "libglib2.0-doc", "libgtk-3-doc",
                     "postgresql-doc-15", "wireshark-doc"), DOCBOOK),
    "apache2-doc": "#page-content",
    "cppreference-doc-en-html": "#mw-content-text",
    "db5.3-doc": "#mainBody",
    "git-doc": "#content",
    "libghc-lens-doc": "#content",
    "libreoffice-help-de": "#DisplayArea",
    "nodejs-doc": "#apicontent",
    "qtdeclarative5-doc-html": "div.content",
    "tomcat10-docs": "#content",
}  # fmt: skip
"""Packages, and the selector of the element in which their templates put the content."""
FURTHER_TEMPLATES = {
    **dict.fromkeys(("ant-doc", "asciidoctor-doc", "cargo-doc", "libjs-bootstrap5-doc", "rust-web-doc"), "main"),
    **dict.fromkeys(("clang-14-doc", "cmake-doc", "developers-reference-de", "mkdocs-doc", "python-attr-doc",
                     "python-black-doc", "python-flask-doc", "python-lxml-doc", "python-sqlalchemy-doc",
                     "python-sympy-doc", "why3-doc-html"), "[role=main]"),
    **dict.fromkeys(("debian-handbook", "gnucash-docs", "libcairo2-doc"), DOCBOOK),
    **dict.fromkeys(("debian-reference-en", "debian-reference-ja"), "body > .chapter"),
    **dict.fromkeys(("csound-doc", "libboost1.81-doc"), "div.refentry"),
    **dict.fromkeys(("exim4-doc-html", "kicad-doc-en", "libghc-pandoc-doc", "nim-doc"), "#content"),
    **dict.fromkeys(("libexiv2-doc", "libstdc++-12-doc", "quantlib-refman-html"), "div.contents"),
    **dict.fromkeys(("borgbackup-doc", "python-statsmodels-doc"), "div.body"),
    "erlang-doc": "#content .innertube",
    "petsc3.18-doc": "article",
    "python-djangorestframework-doc": "#main-content",
    "python-pandas-doc": "article, main",
    "qtbase5-doc-html": "div.content",
    "twisted-doc": "#main",
}  # fmt: skip
"""Packages that were looked at for decision 69, so none of them is held back."""
LATER_TEMPLATES = {
    **dict.fromkeys(("cinder-doc", "nova-doc"), ".docs-body"),
    **dict.fromkeys(("derby-doc", "fop-doc", "groonga-doc", "python-scipy-doc", "ruby-tioga-doc"), "main"),
    **dict.fromkeys(("libjs-mathjax-doc", "python-astroquery-doc", "python-celery-doc", "python-gwcs-doc",
                     "python-setuptools-doc", "python-sklearn-doc", "python-structlog-doc",
                     "python-trio-websocket-doc", "python-typer-doc"), "[role=main]"),
    **dict.fromkeys(("aptitude-doc-en", "libx11-doc", "nut-doc"), DOCBOOK),
    **dict.fromkeys(("fltk1.3-doc", "libhdf5-doc", "libsbml5-cil-doc", "libvisp-doc"), "div.contents"),
    **dict.fromkeys(("libgtk-4-doc", "libsoup-3.0-doc"), "section#main"),
    **dict.fromkeys(("dose-doc", "libcalendar-ocaml-doc"), ".odoc-content"),
    **dict.fromkeys(("povray-doc", "selinux-policy-doc"), "#Content, div.Content"),
    "crystal-doc": ".main-content",
    "freetype2-doc": "article.md-content__inner",
    "h2o-doc": "#main",
    "libapache-mod-jk-doc": "#mainRight",
    "libghc-yesod-doc": "#content",
    "node-nouislider-doc": ".content",
    "racket-doc": "div.maincolumn",
}  # fmt: skip
"""Packages that were looked at for decision 71; `bench/RESULTS.md` tells of which the pages were read."""
FURNITURE = (
    "script, style, nav, button, .headerlink, .viewcode-link, .navheader, .navfooter, .header-anchor"
    ", a.src, .sidebar"
)
"""Parts within the content that lead elsewhere."""
MIN_WORDS = 5


def main() -> None:
    """Write the pages and their gold texts, and print a JSON line with the number of pages by package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", metavar="PKG", default=sorted(TEMPLATES))
    parser.add_argument("--further", action="store_true", help="take the packages of FURTHER_TEMPLATES")
    parser.add_argument("--later", action="store_true", help="take the packages of LATER_TEMPLATES")
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=60)
    args = parser.parse_args()
    if args.further:
        args.packages = sorted(FURTHER_TEMPLATES)
    elif args.later:
        args.packages = sorted(LATER_TEMPLATES)
    counts = gold.write(
        args.out,
        (
            page
            for package in args.packages
            for page in evenly(list(gold_pages(unpack(args.dir, package), package)), args.pages)
        ),
    )
    print(json.dumps({"bench": "documentation", "pages": counts.total(), "packages": counts}))


def gold_pages(folder: Path, package: str) -> Iterator[GoldPage]:
    """Yield each distinct page of a package that has content, with its row."""
    seen = set()
    for path in evenly(sorted(path for path in folder.rglob("*.htm*") if path.is_file()), 1_000):
        body = path.read_bytes()
        digest = hashlib.sha256(body).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        try:
            text = marked_text(body.decode(), (TEMPLATES | FURTHER_TEMPLATES | LATER_TEMPLATES)[package])
        except UnicodeDecodeError:
            continue  # its characters depend on a guess
        if scoring.bag(text).total() >= MIN_WORDS:
            # The URL is without folders, because `/doc/` would tell the kind of every page.
            row = {
                "id": f"{package}/{path.relative_to(folder).as_posix()}",
                "source": package,
                "url": f"https://{package}.example/{path.name}",
            }
            name = f"{package}/{digest[:16]}"
            yield GoldPage({**row, "kind": "documentation", "html": name, "gold_text": text}, body)


def marked_text(html: str, selector: str) -> str:
    """Return the text of the first element that the selector finds, without furniture; return `""` if there is none."""
    found = LexborHTMLParser(html).css_first(selector)
    if found is None:
        return ""
    for part in found.css(FURNITURE):
        part.decompose()
    return found.text(separator="\n")


def evenly(items: list, most: int) -> list:
    """Return at most `most` of the items, evenly spaced."""
    return items if len(items) <= most else [items[index * len(items) // most] for index in range(most)]


if __name__ == "__main__":
    main()
