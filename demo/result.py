"""`DemoResult`: what the demo ended in, and how that differs from what it ends in on every Python (`expected.json`).

A document counts with its host's name, the rest of its URL, and its text. Three things depend on the clock or on chance
and do not count: the port; the id, which is derived from the place of the record in the archive; and which of two URLs
with equal texts stays, because the smaller id decides that. The URL that comes first in the alphabet stands for both.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from demo.web import ADDRESSES, Web

EXPECTED = Path(__file__).with_name("expected.json")
SHOWN = 10
"""Documents that differ, of which so many are named."""
_PORT = 8000
_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """The web, the funnel of its crawl, and the dataset."""

    web: str
    """SHA-256 of all pages of the web."""
    records: int
    """Archived records."""
    funnel: Mapping[str, int]
    """Records dropped, by `rule/reason` in the order of the filters; at the end `kept`."""
    tokens: int
    documents: Mapping[str, str]
    """From the host's name and the rest of the URL of each document to the first digits of the SHA-256 of its text."""

    @property
    def digest(self) -> str:
        """SHA-256 of all documents, ordered by URL."""
        return _sha256(f"{url} {text}\n" for url, text in sorted(self.documents.items()))


def read_result(project: Path) -> DemoResult:
    """Return the result of the demo in this directory."""
    report = json.loads((project / "shards/report.json").read_text("utf-8"))
    manifest = json.loads((project / "shards/manifest.json").read_text("utf-8"))
    found = _columns(project / "data/documents", "id", "url")
    urls = {document: _place(url) for document, url in zip(found["id"], found["url"], strict=True)}
    removed = _columns(project / "data/dedup", "id", "witness", "kind")
    rows = zip(removed["id"], removed["witness"], removed["kind"], strict=True)
    twins = {document: witness for document, witness, kind in rows if kind == "exact"}
    for document in twins:
        witness = document
        while witness in twins:
            witness = twins[witness]
        urls[witness] = min(urls[witness], urls[document])
    kept = _columns(project / "shards/data", "id", "text")
    texts = zip(kept["id"], kept["text"], strict=True)
    return DemoResult(
        web=web_digest(),
        records=report["records"],
        funnel={stage["stage"]: stage["documents"] for stage in report["stages"]},
        tokens=manifest["tokens"],
        documents=dict(sorted((urls[document], _sha256([text])[:_DIGITS]) for document, text in texts)),
    )


def _columns(tables: Path, *names: str) -> dict[str, list[str]]:
    """Return columns of all tables in this directory."""
    columns: dict[str, list[str]] = {name: [] for name in names}
    for file in sorted(tables.glob("**/*.parquet")):
        for name, values in pq.read_table(file, columns=list(names)).to_pydict().items():
            columns[name] += values
    return columns


def web_digest() -> str:
    """Return the SHA-256 of every response of the web, served on one port."""
    return _sha256(
        repr((name, target, answer))
        for name, site in Web().sites(_PORT).items()
        for target, answer in site.answers.items()
    )


def load_expected(file: Path = EXPECTED) -> DemoResult:
    """Return the result that is expected."""
    return DemoResult(**json.loads(file.read_text("utf-8")))


def save_expected(result: DemoResult, file: Path = EXPECTED) -> None:
    """Expect this result from now on."""
    file.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=True) + "\n", "utf-8")


def differences(
    expected: DemoResult, found: DemoResult, *, command: str, hosts: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line for each difference: what was expected, what was found, what to do.

    `command` is `thresher` as the user types it, with the demo's project; `hosts` are the base URLs by name.
    """
    if found.web != expected.web:
        yield _line(
            "pages of the web", expected.web, found.web, "undo the changes in demo/, or use another Python"
        )
    if found.records != expected.records:
        yield _line("archived records", expected.records, found.records, f"{command} log main")
    for stage in {**expected.funnel, **found.funnel}:
        least, count = expected.funnel.get(stage, 0), found.funnel.get(stage, 0)
        if least != count:
            yield _line(stage, least, count, f"{command} {_view(stage) if count > least else 'report'}")
    if found.tokens != expected.tokens:
        yield _line("tokens", expected.tokens, found.tokens, "compare `pip freeze` with requirements.lock")
    urls = sorted({*expected.documents.items()} ^ {*found.documents.items()})
    for url in list(dict.fromkeys(url for url, _ in urls))[:SHOWN]:
        was, now = (
            f"text {each.documents[url]}" if url in each.documents else "no document"
            for each in (expected, found)
        )
        host, slash, rest = url.partition("/")
        yield _line(url, was, now, f"{command} show '{hosts[host]}{slash}{rest}'")
    if found.digest != expected.digest:
        yield _line("digest of the documents", expected.digest, found.digest, f"{command} report")


def _view(stage: str) -> str:
    """Return the command that shows the records of a stage."""
    match stage.partition("/")[0]:
        case "early":
            return "log main"
        case "dedup":
            return "report --duplicates"
        case "extract" | "kept":
            return "report"
        case _:
            return f"report --dropped {stage}"


def _line(what: str, expected: object, found: object, remedy: str) -> str:
    return f"{what}: expected {_number(expected)}, found {_number(found)}; look: {remedy}"


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _place(url: str) -> str:
    parts = urlsplit(url)
    names = {address: name for name, address in ADDRESSES.items()}
    return f"{names[parts.hostname or '']}{url.partition(parts.netloc)[2]}"


def _sha256(texts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(text.encode())
    return whole.hexdigest()
