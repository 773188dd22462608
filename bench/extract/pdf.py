"""Measure text extraction from PDFs: CPU time and agreement with poppler, beside other libraries in the same run.

usage: python bench/extract/pdf.py PDFS.tar.zst REFERENCE.jsonl.zst [--peer NAME ...]

NAME is one of
- thresher: extract.pdf
- pdfium: the same PDFium, with its unprocessed text of each page
- pypdf, pdfminer: their text of the whole document, in an environment of their own (`bench/peers`)
- pdftotext: poppler's program, one process per document (including its start); it must be installed

Each library runs alone, in a process of its own, one document after another. If it crashes, it is restarted after the
document that crashed it. A document has 20 s. CPU time is that of the process and its children. REFERENCE holds
poppler's text and the number of pages of each document. Agreement is measured on the documents for which it has more
than 200 characters: the harmonic mean of precision and recall of the bag of words, and the share of runs of five words
that both texts have. The command prints one JSON line.
"""

# ruff: noqa: PLC0415 - only the process of a library imports it

import argparse
import io
import json
import re
import resource
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_DURATION_S = 20
ENOUGH = 200
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        _, _, name, directory, out, skip = sys.argv
        run(name, Path(directory), Path(out), int(skip))
        return
    sys.path.insert(0, str(ROOT))
    from bench.peers import environments

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pdfs", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--peer", action="append", default=[], choices=["pypdf", "pdfminer", "pdftotext"])
    args = parser.parse_args()
    peers = [("thresher", sys.executable), ("pdfium", sys.executable)]
    peers += [
        (peer, sys.executable if peer == "pdftotext" else environments.python("pdf")) for peer in args.peer
    ]
    reference = [json.loads(line) for line in unpack(args.reference)]
    with tempfile.TemporaryDirectory() as directory:
        import zstandard

        with args.pdfs.open("rb") as file:
            stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                tar.extractall(directory, filter="data")
        found = {name: measure(name, python, Path(directory), reference) for name, python in peers}
    print(json.dumps({"documents": len(reference), "pages": pages_of(reference), "peers": found}))


def unpack(path: Path) -> io.TextIOWrapper:
    import zstandard

    stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(path.open("rb"))
    return io.TextIOWrapper(stream, encoding="utf-8", newline="\n")


def pages_of(reference: list[dict]) -> int:
    return sum(row["pages"] or 0 for row in reference)


def measure(name: str, python: str, directory: Path, reference: list[dict]) -> dict:
    out = directory / f"{name}.jsonl"
    out.touch()
    names = sorted(str(path.relative_to(directory)) for path in directory.rglob("*.pdf"))
    cpu_s, peak, deaths, version = 0.0, 0, 0, ""
    begun = time.monotonic()
    while (done := len(out.read_text().splitlines())) < len(names):
        told = [
            python,
            __file__,
            "--run",
            name,
            str(directory),
            str(out),
            str(done),
        ]
        ended = subprocess.run(told, check=False, capture_output=True, text=True)
        if ended.returncode == 0:
            last = json.loads(ended.stdout.splitlines()[-1])
            cpu_s, peak, version = cpu_s + last["cpu_s"], max(peak, last["peak_mb"]), last["version"]
        elif len(out.read_text().splitlines()) == done and deaths > len(names):
            raise SystemExit(f"{name}: {ended.stderr}")
        else:
            deaths += 1
            name_of_death = names[len(out.read_text().splitlines())]
            with out.open("a") as file:
                file.write(
                    json.dumps({"file": name_of_death, "text": "", "died": ended.stderr[-200:]}) + "\n"
                )
    wall_s = time.monotonic() - begun
    rows = {row["file"]: row for row in map(json.loads, out.read_text().splitlines())}
    read = [row for row in reference if len((row["text"] or "").strip()) > ENOUGH]
    words = [agreement(rows[row["file"]]["text"], row["text"]) for row in read]
    in_order = [order(rows[row["file"]]["text"], row["text"]) for row in read]
    spent = sum(row.get("cpu_s", 0.0) for row in rows.values())
    on_read = sum(rows[row["file"]].get("cpu_s", 0.0) for row in read)
    return {
        "version": version,
        "documents_s": round(len(rows) / spent, 1),
        "pages_s": round(pages_of(reference) / spent, 1),
        "text_pages_s": round(pages_of(read) / on_read, 1),
        "cpu_s": round(spent, 2),
        "wall_s": round(wall_s, 2),
        "peak_mb": round(peak, 1),
        "longest_s": round(max(row.get("cpu_s", 0.0) for row in rows.values()), 2),
        "deaths": deaths,
        "errors": sum("error" in row for row in rows.values()),
        "words_mean": round(statistics.mean(words), 4),
        "words_median": round(statistics.median(words), 4),
        "order_mean": round(statistics.mean(in_order), 4),
        "order_median": round(statistics.median(in_order), 4),
    }


def run(name: str, directory: Path, out: Path, skip: int) -> None:
    read, version = PEERS[name]()
    paths = sorted(directory.rglob("*.pdf"), key=lambda path: str(path.relative_to(directory)))
    signal.signal(signal.SIGALRM, _on_timeout)
    before = cpu()
    with out.open("a") as file:
        for path in paths[skip:]:
            row: dict[str, object] = {"file": str(path.relative_to(directory))}
            begun = cpu()
            signal.alarm(MAX_DURATION_S)
            try:
                row["text"] = read(path).encode(errors="replace").decode()
            except Exception as error:  # noqa: BLE001 - a peer's own, counted
                row |= {"text": "", "error": f"{type(error).__name__}: {error}"[:200]}
            finally:
                signal.alarm(0)
            row["cpu_s"] = cpu() - begun
            file.write(json.dumps(row) + "\n")
            file.flush()
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    peak = max(usage.ru_maxrss for usage in usages) / 1024
    print(json.dumps({"cpu_s": cpu() - before, "peak_mb": peak, "version": version}))


def _on_timeout(*_: object) -> None:
    raise TimeoutError


def cpu() -> float:
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


Peer = Callable[[Path], str]


def thresher() -> tuple[Peer, str]:
    sys.path.insert(0, str(ROOT))
    from thresher.extract.pdf import PdfExtraction, extract

    def read(path: Path) -> str:
        found = extract(path.read_bytes())
        return found.text if isinstance(found, PdfExtraction) else ""

    return read, pdfium()[1]


def pdfium() -> tuple[Peer, str]:
    import pypdfium2
    from pypdfium2 import version

    def read(path: Path) -> str:
        document = pypdfium2.PdfDocument(path.read_bytes())
        texts = []
        for page in document:
            text_page = page.get_textpage()
            texts.append(text_page.get_text_range())
            text_page.close()
            page.close()
        document.close()
        return "\n\n".join(texts).replace("\ufffe", "-")

    return read, f"pypdfium2 {version.PYPDFIUM_INFO}, PDFium {version.PDFIUM_INFO}"


def pypdf() -> tuple[Peer, str]:
    import logging

    import pypdf

    logging.disable(logging.CRITICAL)

    def read(path: Path) -> str:
        return "\n\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)

    return read, f"pypdf {pypdf.__version__}"


def pdfminer() -> tuple[Peer, str]:
    import logging

    import pdfminer
    from pdfminer.high_level import extract_text

    logging.disable(logging.CRITICAL)
    return lambda path: extract_text(str(path)), f"pdfminer.six {pdfminer.__version__}"


def pdftotext() -> tuple[Peer, str]:
    told = subprocess.run(["pdftotext", "-v"], check=False, capture_output=True, text=True).stderr

    def read(path: Path) -> str:
        ended = subprocess.run(
            ["pdftotext", str(path), "-"], check=True, capture_output=True, timeout=MAX_DURATION_S
        )
        return ended.stdout.decode(errors="replace")

    return read, told.splitlines()[0]


PEERS = {"thresher": thresher, "pdfium": pdfium, "pypdf": pypdf, "pdfminer": pdfminer, "pdftotext": pdftotext}


def tokens(text: str) -> list[str]:
    return TOKEN.findall(unicodedata.normalize("NFC", text).lower())


def agreement(found: str, wanted: str) -> float:
    one, other = Counter(tokens(found)), Counter(tokens(wanted))
    return 2 * (one & other).total() / max(1, one.total() + other.total())


def order(found: str, wanted: str) -> float:
    one, other = (set(zip(*(tokens(text)[n:] for n in range(5)), strict=False)) for text in (found, wanted))
    return len(one & other) / max(1, len(one | other))


if __name__ == "__main__":
    main()
