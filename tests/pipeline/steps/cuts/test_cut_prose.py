"""All passages and lines that are planted in real prose are cut, and every cut equals the text of its witness."""

from dataclasses import replace

from bench.dedup.cuts import FEWEST, WORDS, judged, plant
from bench.shards.export import SOURCE, prose, put_documents
from tests.shared import shared_file
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.steps.cuts import cut_run
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore


def test_planted_repeats_are_cut_and_nothing_else_than_repeats(tmp_path, pool):
    file = shared_file("prose/nltk-prose.jsonl.zst")
    (tmp_path / "prose").mkdir()
    (tmp_path / "prose" / file.name).symlink_to(file)
    texts, planted, lines = plant(next(prose(tmp_path / "prose")), 300, 0.3)
    assert len(planted) > 50
    store = DirectoryStore(tmp_path / "data")
    removed = put_documents(store, iter([texts[:150], texts[150:]]))
    config = replace(DedupConfig(), substring_words=WORDS, line_documents=FEWEST, memory=10_000_000)
    made, _ = cut_run.run(store, [SOURCE], config, removed, pool=pool, progress=LineProgress())
    found = judged(store, made.part, texts, planted, lines)
    assert (found["recall"], found["line_recall"], found["wrong"]) == (1.0, 1.0, 0)
