"""The job on the golden corpus: a digest for each stage, printed as one line of JSON.

usage: python -m tests.pythons.golden_job [--pages FILE.jsonl]
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import astuple
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow.parquet as pq

from tests.pythons.golden_corpus import pages, texts
from tests.storage.captures import STARTED_MS, capture
from thresher.core import Document, RecordRef
from thresher.core.unicode14 import known
from thresher.extract import html, wikitext
from thresher.extract.charset import decode, to_utf8
from thresher.extract.extraction import Extraction
from thresher.extract.markup.links import extract_links
from thresher.filters.dedup import repeat_units
from thresher.filters.dedup.signature import sign
from thresher.filters.judge import judge
from thresher.filters.measuring import Measurer
from thresher.filters.models.language import load_language_model
from thresher.filters.rules.boilerplate import Boilerplate
from thresher.filters.rules.code_lines import CodeLines
from thresher.filters.rules.presets import PRESETS, preset_rules
from thresher.filters.signals.licenses import statements
from thresher.filters.signals.perplexity import model_lines, normalized
from thresher.filters.signals.pii import PiiMasking
from thresher.filters.text import AnalyzedText
from thresher.filters.words import words
from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import LocalWorkerPool
from thresher.pipeline.funnel import make_funnel
from thresher.pipeline.steps import dedup, export, export_directory, export_plan, process
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.formats.registry import FORMATS
from thresher.shards.tokenizer import load_tokenizer_file
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.directory_store import DirectoryStore

FILTERS = FiltersConfig(preset="gopher", languages=())


def digest(*values):
    """The first digits of the SHA-256 of values, as Python writes them in ASCII."""
    total = hashlib.sha256()
    for value in values:
        total.update(value if isinstance(value, bytes) else ascii(value).encode())
        total.update(b"\n")
    return total.hexdigest()[:16]


def extraction_digests(corpus):
    """Of texts and facts, plain and as Markdown, and of links."""
    made = {"plain": [], "markdown": [], "links": []}
    for url, (body, mime) in corpus.items():
        if "wiki" in mime:
            made["plain"].append(astuple(wikitext.extract(body)))
            made["markdown"].append(astuple(wikitext.extract(body, markdown=True)))
            continue
        decoded = decode(body, mime)
        made["plain"].append((decoded.charset, *astuple(html.extract(decoded, url))))
        made["markdown"].append(astuple(html.extract(decoded, url, markdown=True, links=True)))
        utf8, codec = to_utf8(body, mime)
        made["links"].append(extract_links(utf8, url, codec))
    return {stage: digest(*values) for stage, values in made.items()}


def text_digests(named):
    """Of what is computed from texts alone: languages, words, verdicts and measurements, signatures, units, edits."""
    recognise = load_language_model()
    languages = {name: recognise(text) for name, text in named.items()}
    made = {"languages": digest(*languages.items())}
    for preset in PRESETS:
        rules = preset_rules(preset, ("en", "de", "zh", "ar"), ())
        found = list[object]()
        for name, text in named.items():
            document, language = _document(name, text), languages[name]
            found += [judge(document, language, rules), Measurer(rules).measure(_analyzed(text, language))]
        made[f"verdicts of {preset}"] = digest(*found)
    more = (
        PiiMasking(kinds=("key", "email", "iban", "card", "ip")),
        CodeLines(),
        Boilerplate(phrases=("all RIGHTS reserved",)),
    )
    made["edits"] = digest(
        *(rule(_analyzed(text, languages[name])) for name, text in named.items() for rule in more)
    )
    made["signatures"] = digest(*((one, two.tobytes()) for one, two in map(sign, named.values())))
    units = (repeat_units.words, repeat_units.lines, repeat_units.paragraphs)
    made["units"] = digest(
        *(array.tobytes() for text in named.values() for unit in units for array in unit(text))
    )
    made["words"] = digest(
        *(
            (
                words(known(text).lower()),
                _analyzed(text, languages[name]).tokens,
                list(model_lines(text)),
                normalized(text),
            )
            for name, text in named.items()
        ),
        *(statements(known(text)) for text in named.values()),
    )
    return made


def _document(name, text):
    record = RecordRef(file="warc/golden/a.warc.gz", offset=0, length=1, digest="sha256:0")
    empty: dict[str, Any] = dict.fromkeys(
        (
            "title",
            "date",
            "language",
            "declared_language",
            "license",
            "mime",
            "charset",
            "extractor",
            "external_id",
        ),
        "",
    )
    url = f"https://golden.example/{name}"
    return Document(id=name, url=url, text=text, source="golden", fetched_at_ms=0, record=record, **empty)


def _analyzed(text, language):
    return AnalyzedText(
        text=text,
        language=language.code,
        language_score=language.score,
        language_share=language.share,
        url="https://a.example/x",
    )


def stored_digests(corpus, root):
    """Of the archive, the parts that are made of it, and the shards of every format."""
    store = DirectoryStore(root / "data")
    writer = ArchiveWriter(store, "golden", writer="w", user_agent="thresher/golden")
    for number, (url, (body, mime)) in enumerate(corpus.items()):
        taken = capture(body, headers=(("Content-Type", mime),), wire=url, started_ms=STARTED_MS + number)
        writer.append(taken, UUID(int=number + 1, version=4))
    writer.commit()
    writer.seal()
    pool, progress = LocalWorkerPool(1), LineProgress()
    try:
        run_step.run_step(
            store,
            process.step(FILTERS),
            process.parts(store, "golden", FILTERS),
            process.work,
            pool=pool,
            progress=progress,
        )
        removed, _ = dedup.run(store, ["golden"], DedupConfig(), pool=pool, progress=progress)
        plan = export_plan.make_plan(
            store, ["golden"], load_tokenizer_file(None), removed, ExportOptions(formats=tuple(FORMATS))
        )
        out = export.open_directory(plan, str(root / "out"))
        with export_directory.write_lock(out):
            shards = export.make_shards(plan, out, pool=pool, progress=progress)
            export.finish(plan, out, shards, make_funnel(["golden"], {}, []))
    finally:
        pool.close()
    made = {
        "rows": digest(
            *(pq.read_table(path).to_pylist() for path in sorted((root / "data").rglob("*.parquet")))
        )
    }
    for top in ("data", "out"):
        for folder in sorted(
            path for path in (root / top).iterdir() if path.name not in {".work", ".staging"}
        ):
            files = (
                sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
            )
            made[f"{top}/{folder.name}"] = digest(
                *((path.relative_to(root).as_posix(), path.read_bytes()) for path in files)
            )
    return made


def main():
    """Print the digests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pages", type=Path, help="JSON lines with `url` and `html` in place of the golden corpus"
    )
    args = parser.parse_args()
    corpus, named = pages(), texts()
    if args.pages:
        rows = [json.loads(line) for line in args.pages.open()]
        corpus = {
            row["url"]: (row["html"].encode(errors="replace"), "text/html; charset=utf-8") for row in rows
        }
        named = {
            url: found.text
            for url, (body, mime) in corpus.items()
            if isinstance(found := html.extract(decode(body, mime), url), Extraction)
        }
    made = extraction_digests(corpus) | text_digests(named)
    if not args.pages:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as root:
            made |= stored_digests(corpus, Path(root))
    sys.stdout.write(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
