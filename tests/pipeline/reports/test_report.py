"""The report: it fits a terminal of 80 columns, and its tokens are those of the kept documents."""

import io
import json

import msgspec
import pytest
from rich.console import Console

from thresher.pipeline.funnel import Funnel, Stage
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.recipe import export_dataset, find_duplicates, process_sources
from thresher.pipeline.reports import report
from thresher.pipeline.reports.metrics import project_costs, readable_status
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.mix import Mix
from thresher.shards.tokenizer import load_tokenizer_file

STAGES = (
    ("early/status", 12_345, 98_765_432, 0, 0),
    ("gopher_repetition/repeated_line_characters", 1_234_567, 987_654_321, 123_456_789, 40_123_456),
    ("kept", 7_654_321, 9_876_543_210, 1_234_567_890, 401_234_567),
)


def test_the_funnel_fits_a_terminal_of_80_columns():
    funnel = Funnel(
        sources=("main",),
        stages=tuple(
            Stage(name=name, documents=documents, payload_bytes=payload, text_bytes=text, tokens=tokens)
            for name, documents, payload, text, tokens in STAGES
        ),
        tokenizer="tokenizer.json",
    )
    written = io.StringIO()
    report.render(funnel, Console(file=written, width=80, force_terminal=True, color_system=None))
    text = written.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    for number in ("8,901,233", "1,234,567", "13.9 %", "987.7 MB", "123.5 MB", "~40,123,456", "9.9 GB"):
        assert number in text, number


@pytest.fixture
def deduplicated(tmp_path):
    """A project with twelve kept texts of one source."""
    (tmp_path / "thresher.toml").write_text('[filters]\npreset = "none"\nlanguages = []\n')
    project = OpenProject.at(tmp_path)
    rows = tmp_path / "books.jsonl"
    rows.write_text(
        "".join(json.dumps({"text": f"text {n}: " + f"words of {n} " * (9 + n)}) + "\n" for n in range(12))
    )
    ingest(project.store, "books", locate_inputs([rows]))
    with project.worker_pool(1) as pool:
        process_sources(project, ("books",), pool, LineProgress())
        find_duplicates(project, ("books",), pool, LineProgress())
        yield project, pool


def test_tokens_of_a_mix_are_not_those_of_the_kept_documents(deduplicated):
    project, pool = deduplicated

    def export(name, **options):
        out, tokenizer = str(project.directory / name), load_tokenizer_file(None)
        dataset, funnel = export_dataset(
            project, ("books",), out, tokenizer, pool, LineProgress(), ExportOptions(**options)
        )
        return sum(shard.tokens for shard in dataset.shards), funnel

    def shown():
        again = OpenProject.at(project.directory)
        return (
            report.funnel_of(again, ("books",)).kept.tokens,
            project_costs(again, readable_status(again)).kept_tokens,
        )

    part = msgspec.convert({"source": [{"name": "some", "share": 1}], "by": "documents", "size": 3}, Mix)
    _, funnel = export("mix", mix=part)
    assert funnel.kept.tokens is None, "the rate of tokens is that of other documents"
    assert shown() == (None, None)
    tokens, funnel = export("whole")
    assert funnel.kept.tokens == tokens
    assert shown() == (tokens, tokens)
    export("mix-again", mix=part)
    export("again", shard_bytes=1_000)
    assert shown() == (tokens, tokens), "a document that is exported twice is kept once"
