"""`import thresher`: what users may rely on, and nothing else."""

import ast
import asyncio
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest

import thresher
from tests.pipeline.steps.judged_sources import SENTENCES

ROOT = Path(__file__).resolve().parents[2]


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout


def test_every_public_name_can_be_had_and_is_documented():
    assert {"Project", "__version__"} <= set(thresher.__all__)
    assert set(thresher.__all__) <= set(dir(thresher))
    for name in thresher.__all__:
        assert getattr(thresher, name) is not None
        if name != "__version__":
            assert getattr(thresher, name).__doc__, name


def test_the_version_is_that_of_the_package():
    assert thresher.__version__ == version("thresher")
    assert thresher.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_importing_it_imports_none_of_the_rest():
    rest = {
        "thresher.pipeline",
        "thresher.crawler",
        "thresher.storage",
        "thresher.filters",
        "thresher.core",
        "pyarrow",
        "typer",
        "asyncio",
        "importlib.metadata",
    }
    loaded = ast.literal_eval(python("import sys, thresher; print(sorted(sys.modules))"))
    assert rest & set(loaded) == set()


def test_a_loader_imports_neither_the_crawler_nor_torch(tmp_path):
    """A training process has a loader of an export in a directory, and nothing that it does not need."""
    from tests.shards.loader.made_export import documents_of, make_export

    make_export(tmp_path / "out", {"web": documents_of("web", 9)})
    code = (
        "import sys, thresher; "
        f"loader = thresher.Loader({str(tmp_path / 'out')!r}, length=8, batch_size=2, cache={str(tmp_path / 'cache')!r}); "
        "assert len(list(loader)); print(sorted(sys.modules))"
    )
    loaded = set(ast.literal_eval(python(code)))
    rest = {
        "thresher.pipeline",
        "thresher.crawler",
        "thresher.frontier",
        "thresher.extract",
        "thresher.filters",
        "torch",
        "pyarrow",
        "tokenizers",
        "aiohttp",
        "boto3",
        "pydantic",
        "redis",
        "typer",
        "numpy.ma",
    }
    assert rest & loaded == set()


def test_a_name_that_it_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Crawler'"):
        _ = thresher.Crawler


def test_a_project_is_created_once(tmp_path):
    directory = tmp_path / "new"
    project = thresher.Project.create(directory, contact='mailto:"me"@example.org')
    assert (project.directory, project.sources) == (directory, ())
    assert 'contact = "mailto:\\"me\\"@example.org"' in (directory / "thresher.toml").read_text()
    with pytest.raises(thresher.InputError, match="exists already"):
        thresher.Project.create(directory)


def test_a_contact_that_is_none_makes_no_project(tmp_path):
    with pytest.raises(thresher.InputError, match=r"project\.contact"):
        thresher.Project.create(tmp_path / "new", contact="me")
    assert not (tmp_path / "new").exists()


def test_wrong_input_is_refused_in_one_line(tmp_path):
    project = thresher.Project.create(tmp_path)
    refused: dict[str, Callable[[], object]] = {
        "nothing is archived yet": project.process,
        "spider='package.module:Class'": lambda: project.crawl(arguments={"a": "b"}),
        "name 'a/b'": lambda: project.ingest("a/b", tmp_path),
        "no such file": lambda: project.export(tmp_path / "out", tokenizer=tmp_path / "none.json"),
        "contact": project.crawl,
    }
    for words, call in refused.items():
        with pytest.raises(thresher.InputError, match=words) as error:
            call()
        assert "\n" not in str(error.value)
    with pytest.raises(thresher.InputError, match="no such directory"):
        thresher.Project(tmp_path / "none")


STORY = (
    "The {0} keeper of the {0} lamp went down to the {0} harbour and waited for the {0} boats to come home."
)


def test_texts_become_shards_without_a_command(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for number, word in enumerate(("first", "second", "third")):
        (texts / f"{number}.txt").write_text(STORY.format(word))
    (texts / "again.txt").write_text(STORY.format("third") + "\n")
    project = thresher.Project.create(tmp_path / "project")
    toml = project.directory / "thresher.toml"
    toml.write_text(toml.read_text().replace('# preset = "fineweb"', 'preset = "none"'))
    project = thresher.Project(project.directory)

    brought = project.ingest("books", texts)
    assert (brought.added, brought.entries, brought.refused) == (4, 4, [])
    assert project.sources == ("books",)
    assert project.process(workers=1).made == 1
    assert project.process(workers=1).already == 1
    assert project.dedup() == {"exact": 1, "url": 0, "near": 0}
    assert len(list(project.documents(duplicates=True))) == 4
    assert len(list(project.documents())) == 3
    (batch,) = project.document_batches("books", columns=["language_score", "cluster_size"])
    assert sorted(map(str, batch["cluster_size"].to_pylist())) == ["1", "1", "2"]
    with pytest.raises(thresher.InputError, match="only documents without duplicates have it"):
        next(project.document_batches(columns=["cluster_size"], duplicates=True))
    assert {document["language"] for document in project.documents("books")} == {"en"}
    dataset = project.export(tmp_path / "out", tokenizer="bytes", workers=1)
    funnel = project.funnel()
    assert dataset.documents == funnel.kept.documents == 3
    assert sum(stage.documents for stage in funnel.stages) == funnel.records == 4
    assert dataset.tokens == sum(shard.tokens for shard in dataset.shards) > 0


def test_urls_are_seeded_from_a_list_a_file_and_one_by_one(tmp_path):
    project = thresher.Project.create(tmp_path, contact="mailto:me@example.org")
    (tmp_path / "seeds.txt").write_text("https://a.example/\nhttps://b.example/\n")
    found = project.seed(["https://a.example/", " https://c.example/x ", "nothing"])
    assert (found.added, found.known, found.refused) == (2, 0, 1)
    found = project.seed(tmp_path / "seeds.txt")
    assert (found.added, found.known) == (1, 1)
    assert project.seed("https://b.example/").known == 1


def test_where_no_crawl_can_run_one_line_says_so(tmp_path):
    project = thresher.Project.create(tmp_path, contact="mailto:me@example.org")

    async def in_a_loop(call):
        call()

    for call in (project.crawl, lambda: project.seed("https://a.example/")):
        with pytest.raises(thresher.InputError, match="an event loop runs in this thread already"):
            asyncio.run(in_a_loop(call))
    with ThreadPoolExecutor(1) as pool, pytest.raises(thresher.InputError, match="only the main thread can"):
        pool.submit(project.crawl).result()


@pytest.fixture(scope="module")
def processed_project(tmp_path_factory):
    """The directory of a processed project with texts of 25, 45, 65 and 85 words."""
    directory = tmp_path_factory.mktemp("processed")
    (directory / "thresher.toml").write_text(
        '[filters]\npreset = "none"\nrules = ["gopher_quality"]\nlanguages = []\n'
    )
    texts = directory / "texts"
    texts.mkdir()
    for number in range(4):
        words = " ".join([*SENTENCES[number:], *SENTENCES]).split()[: 25 + 20 * number]
        (texts / f"{number}.txt").write_text(" ".join(words))
    project = thresher.Project(directory)
    project.ingest("docs", texts)
    project.process(workers=1)
    return directory


@pytest.fixture
def judged_project(processed_project, tmp_path):
    """A copy of it."""
    shutil.copytree(processed_project, tmp_path, dirs_exist_ok=True)
    return thresher.Project(tmp_path)


def kept(project, verdicts=""):
    return project.funnel(verdicts=verdicts).kept.documents


def test_reports_are_those_that_the_command_prints(judged_project):
    project = judged_project
    report = project.report(by="source")
    assert {**project.funnel().to_dict(), "flags": report["flags"]}.items() <= report.items()
    assert list(report["scan"]["groups"]["source"]) == ["docs"]
    dropped = project.report_dropped("gopher_quality", sample=1)
    assert [(each["rule"], each["measurement"]) for each in dropped] == [("gopher_quality", "words")]
    assert project.dedup(workers=1) == {"exact": 0, "url": 0, "near": 0}
    assert not project.report_duplicates("docs")["clusters"]
    assert project.audit_dedup(sample=2, workers=1)["documents"] == 2


@pytest.mark.slow
def test_sets_of_verdicts_are_made_and_used_without_a_command(judged_project, tmp_path):
    project, short = judged_project, {"gopher_quality.fewest_words": 40}
    assert project.verdict_sets == ()
    assert (kept(project), project.judge("short", thresholds=short, workers=1).made) == (2, 1)
    assert project.judge("short", "docs", thresholds=short, workers=1).already == 1
    assert project.judge("german", languages=["de"], workers=1).made == 1
    assert project.verdict_sets == ("german", "short")
    assert (kept(project), kept(project, "short"), kept(project, "german")) == (2, 3, 0)
    assert len(list(project.documents(verdicts="short", duplicates=True))) == 3
    assert len(list(project.signatures(verdicts="short"))) == 3
    with pytest.raises(thresher.InputError, match="thresher dedup docs --verdicts short"):
        project.export(tmp_path / "out", verdicts="short")
    project.dedup(verdicts="short")
    dataset = project.export(tmp_path / "out", verdicts="short", formats=["jsonl", "parquet"], workers=1)
    assert dataset.documents == 3
    assert {Path(shard.name).suffix for shard in dataset.shards} == {".zst", ".parquet"}
    with pytest.raises(thresher.Conflict, match="fewest_words was 40, is 50 now"):
        project.judge("short", workers=1)
    assert project.judge("short", redo=True, workers=1).made == 1
    assert kept(project, "short") == 2


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda project: project.judge("x/y"), "is no name of a set of verdicts"),
        (lambda project: project.judge("a", thresholds={"gopher_quality.words": 1}), "gopher_quality.words"),
        (
            lambda project: project.judge("a", thresholds={"gopher_quality.fewest_words": "30"}),
            "finite number",
        ),
        (lambda project: project.judge("a", languages=["English"]), "'English' is no code of ISO 639"),
        (lambda project: project.judge("a", preset="fine"), "fine"),
        (lambda project: project.dedup(verdicts="none"), "no set of verdicts has the name 'none'"),
        (lambda project: next(project.documents(verdicts="none")), "no set of verdicts has the name 'none'"),
        (
            lambda project: project.export("o", formats=["csv"]),
            "formats: 'csv' is not known; choose from tokens",
        ),
        (lambda project: project.export("o", pack=9, packing="all"), "packing: 'all' is not known"),
        (lambda project: project.export("o", pack=0), "give a length from 1"),
    ],
)
def test_wrong_sets_and_choices_are_refused_in_one_line(judged_project, monkeypatch, call, problem):
    monkeypatch.chdir(judged_project.directory)
    with pytest.raises(thresher.InputError, match=problem) as error:
        call(judged_project)
    assert "\n" not in str(error.value)
    assert judged_project.verdict_sets == ()
    assert not Path("o").exists()


@pytest.mark.slow
def test_the_python_of_the_guide_to_thresholds_works(judged_project, tmp_path, monkeypatch, capsys):
    from tokenizers import Tokenizer, models

    monkeypatch.chdir(tmp_path)
    Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")).save("tokenizer.json")
    guide = (ROOT / "docs/guides/thresholds.md").read_text()
    exec(guide.split("```python\n")[1].split("```")[0], {})
    shown = "words30 3\nwords50 2\nwords100 0\n('words100', 'words30', 'words50')\n"
    assert capsys.readouterr().out == shown
    assert (tmp_path / "out-short/manifest.json").exists()
