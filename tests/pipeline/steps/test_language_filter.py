"""A project of Norwegian and Croatian: confined workers recognise them, and every document has its language."""

import json
import subprocess
import sys

import pyarrow.dataset as ds

from tests.filters.test_languages import TEXTS
from tests.pipeline.engine.test_confinement import ROOT
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.storage.directory_store import DirectoryStore

CONFIGURATION = '[filters]\npreset = "none"\nlanguages = ["nb", "hr"]\n'
PAGES = {
    **{code: text * 3 for code, text in TEXTS.items()},
    "half": TEXTS["no"] * 9 + TEXTS["en"] * 8,
    "none": "1234 " * 50,
}


def thresher(project, configuration, *words):
    (project / "thresher.toml").write_text(configuration)
    command = [sys.executable, "-m", "thresher", "--project", str(project), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def column(project, table, name):
    rows = ds.dataset(project / "data" / table).to_table().to_pylist()
    return {row["id"]: row[name] for row in rows}


def test_wanted_languages_are_kept_and_mixed_texts_are_reported(tmp_path):
    rows = [{"url": f"http://example.test/{name}", "text": text} for name, text in PAGES.items()]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ingest(DirectoryStore(tmp_path / "data"), "pages", locate_inputs([tmp_path / "pages.jsonl"]))
    done = thresher(tmp_path, CONFIGURATION, "process", "--workers", "1")
    assert done.returncode == 0, done.stderr
    names = {id_: url.rpartition("/")[2] for id_, url in column(tmp_path, "documents", "url").items()}
    languages = {names[id_]: code for id_, code in column(tmp_path, "documents", "language").items()}
    reasons = {names[id_]: reason for id_, reason in column(tmp_path, "verdicts", "reason").items()}
    shares = {names[id_]: share for id_, share in column(tmp_path, "measurements", "language_share").items()}
    assert languages == {code: code for code in TEXTS} | {"half": "no", "none": ""}
    assert reasons == {code: "" if code in ("no", "hr") else "other_language" for code in TEXTS} | {
        "half": "mixed",
        "none": "other_language",
    }
    assert 0.4 < shares["half"] < 0.65
    assert shares["hr"] == 1.0


def test_a_language_that_no_model_knows_is_refused_before_a_crawl_drops_pages_for_it(tmp_path):
    configuration = (
        '[project]\ncontact = "mailto:a@example.org"\n[crawler]\narchive = "kept"\n'
        '[filters]\nlanguages = ["eng"]\n'
    )
    (tmp_path / "seeds.txt").write_text("http://192.0.2.1/\n")
    assert thresher(tmp_path, configuration, "seed", str(tmp_path / "seeds.txt")).returncode == 0
    done = thresher(tmp_path, configuration, "crawl", "--max-requests", "1")
    assert done.returncode == 2, done.stderr
    line = done.stderr.splitlines()[-1]
    assert "filters.languages: 'eng' is no language that can be recognised" in line
    assert not (tmp_path / "data").exists() or not any((tmp_path / "data").rglob("*.warc.gz"))


def test_a_language_that_no_model_knows_is_refused_before_a_part_is_made(tmp_path):
    (tmp_path / "pages.jsonl").write_text(json.dumps({"url": "http://example.test/", "text": "A page."}))
    ingest(DirectoryStore(tmp_path / "data"), "pages", locate_inputs([tmp_path / "pages.jsonl"]))
    done = thresher(tmp_path, '[filters]\nlanguages = ["eng"]\n', "process")
    assert done.returncode == 2, done.stderr
    assert "filters.languages: 'eng' is no language that can be recognised" in done.stderr
    assert not (tmp_path / "data" / "documents").exists()
