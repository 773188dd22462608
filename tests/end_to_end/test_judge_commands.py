"""What a user types to try other thresholds: `judge`, `report --dropped`, `--verdicts`, and `verify` over the sets."""

import json

import pytest

from tests.pipeline.steps.judged_sources import rows


@pytest.fixture
def project(calling_user):
    (calling_user.directory / "thresher.toml").write_text('[filters]\nlanguages = ["en", "de"]\n')
    texts = calling_user.directory / "texts.jsonl"
    texts.write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    calling_user.run("ingest", "s", texts)
    calling_user.run("process", "s")
    return calling_user


def stages(project, *words):
    found = json.loads(project.run("report", "s", "--json", *words).out)
    return {stage["stage"]: stage["documents"] for stage in found["stages"]}


def test_a_set_of_verdicts_from_its_thresholds_to_an_export(project):
    before = stages(project)
    project.run("judge", "s", "--name", "long", "--set", "gopher_quality.fewest_words=500")
    after = stages(project, "--verdicts", "long")
    assert after["gopher_quality/too_few_words"] > before.get("gopher_quality/too_few_words", 0)
    assert sum(after.values()) == sum(before.values())
    assert stages(project) == before
    dropped = json.loads(
        project.run(
            "report", "s", "--verdicts", "long", "--dropped", "gopher_quality", "--sample", "2", "--json"
        ).out
    )["dropped"]
    assert len(dropped) == 2
    assert {each["threshold"] for each in dropped} == {500}
    shown = project.run(
        "report", "s", "--verdicts", "long", "--dropped", "gopher_quality", "--sample", "1"
    ).out
    assert "below 500" in shown
    assert dropped[0]["url"] in shown
    project.run("dedup", "s", "--verdicts", "long")
    assert list((project.directory / "data" / "dedup").rglob("removed-*.parquet"))


def test_the_report_shows_groups_rules_and_pictures(project):
    shown = project.run(
        "report", "s", "--by", "language", "--by", "domain", "--rules", "--plot", "r.html"
    ).out
    for words in ("Documents by language", "Documents by domain", "only this one", "example.org"):
        assert words in shown
    assert "<svg" in (project.directory / "r.html").read_text()
    project.run("report", "s", "--histograms", "h.svg")
    assert (project.directory / "h.svg").read_text().startswith("<?xml")
    found = json.loads(project.run("report", "s", "--rules", "--json").out)
    assert {rule["rule"] for rule in found["scan"]["rules"]} >= {
        "language",
        "gopher_quality",
        "c4",
        "fineweb",
    }
    assert found["flags"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--name", "x", "--set", "gopher_quality.fewest_word=3"),
            "did you mean 'gopher_quality.fewest_words'",
        ),
        (("--name", "x", "--set", "languages=en,fr"), "texts in fr were not extracted"),
        (("--name", "../x"), "no name of a set of verdicts"),
        (("--name", "x", "--set", "preset=nothing"), "is not known; use one of"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_code_2(project, words, message):
    error = project.run("judge", "s", *words, code=2).err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not list((project.directory / "data").glob("judged_*"))


def test_a_damaged_set_is_found_and_made_again(project):
    judge = ("judge", "s", "--name", "same")
    project.run(*judge)
    (table,) = (project.directory / "data" / "judged_verdicts" / "same").rglob("*.parquet")
    whole = table.read_bytes()
    table.write_bytes(whole[:100] + b"x" + whole[101:])
    assert "judged_verdicts/same" in project.run("verify", code=1).err
    project.run("verify", "--repair", code=1)
    project.run(*judge)
    assert table.read_bytes() == whole
    project.run("verify")


def test_thresholds_of_the_configuration_hold_for_process_and_judge(project):
    with (project.directory / "thresher.toml").open("a") as file:
        file.write('[filters.thresholds]\n"gopher_quality.fewest_words" = 500\n')
    project.run("judge", "s", "--name", "configured")
    judged = stages(project, "--verdicts", "configured")
    project.run("process", "s", "--redo")
    assert stages(project) == judged


def test_a_document_of_a_local_file_is_shown_by_its_uri(calling_user):
    texts = calling_user.directory / "two texts.jsonl"
    texts.write_text("".join(f"{json.dumps({'text': f'Text {n} of the file.'})}\n" for n in (1, 2)))
    calling_user.run("ingest", "local", texts)
    calling_user.run("process", "local")
    found = calling_user.run("show", "file:two texts.jsonl#line=2", "--json").json
    assert found["url"] == "file:two%20texts.jsonl#line=2"
    ((source,)) = found["sources"]
    assert (source["name"], source["frontier"], source["log"]) == ("local", None, [])
    ((capture,)) = source["captures"]
    assert (capture["url"], bool(capture["verdict"])) == (found["url"], True)
    assert calling_user.run("show", "FILE:two%20texts.jsonl#line=2").out.startswith(
        "local:\n  undated, captured "
    )
    assert ": unknown; " in calling_user.run("show", "file:two texts.jsonl#line=3").out
