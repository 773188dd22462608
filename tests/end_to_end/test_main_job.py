"""The main job on a small web: everything in scope archived once, everything adds up, any tool reads it."""

import gzip
import json
import subprocess
import sys
from collections import Counter

import pyarrow.parquet as pq
import pytest
from fastwarc.warc import ArchiveIterator
from tokenizers import Tokenizer
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from demo.__main__ import READ
from demo.web import Web
from thresher.shards import tokenizer


@pytest.fixture(scope="module")
def web():
    with Web().serve() as serving:
        yield serving


@pytest.fixture(scope="module")
def job(web, tmp_path_factory):
    """One run of the whole job, shared by the tests that look at what came of it and start no command again."""
    from tests.end_to_end.conftest import TOML, CallingUser

    directory = tmp_path_factory.mktemp("job")
    (directory / "thresher.toml").write_text(TOML)
    (directory / "seeds.txt").write_text("\n".join(web.seeds))
    (directory / "tokenizer.json").write_text(tokenizer.load_tokenizer_file(None).json, "utf-8")
    user = CallingUser(directory)
    before = len(web.log)
    said = user.run(
        "run", "seeds.txt", "--out", "out", "--tokenizer", "tokenizer.json", "--scope", "host", "--json"
    )
    return user, said.json, list(web.log)[before:]


def archived(user):
    """URL to number of records of answers with status 200, over every WARC of the project."""
    found = Counter()
    for path in (user.directory / "data" / "warc").rglob("*.warc.gz"):
        with path.open("rb") as stream:
            for record in WarcioIterator(stream):
                if (
                    record.rec_type in {"response", "revisit"}
                    and record.http_headers.get_statuscode() == "200"
                ):
                    found[record.rec_headers.get_header("WARC-Target-URI")] += 1
    return found


def rows(user):
    paths = sorted((user.directory / "out").glob("data/shard-*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def test_every_page_in_scope_is_archived_exactly_once(job, web):
    user, _, _ = job
    found = archived(user)
    missing = web.expected.pages - set(found)
    assert not missing
    assert {url: count for url, count in found.items() if count > 1} == {}


def test_what_robots_txt_forbids_is_never_asked_for(job, web):
    _, _, log = job
    asked = {f"{web.hosts[entry.host]}{entry.path}" for entry in log if entry.host in web.hosts}
    assert not web.expected.forbidden & asked


def test_fastwarc_reads_every_record_and_their_digests_hold(job):
    user, _, _ = job
    kinds = Counter()
    for path in (user.directory / "data" / "warc").rglob("*.warc.gz"):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, parse_http=False):
                assert record.verify_block_digest()
                kinds[record.headers["WARC-Type"]] += 1
    assert kinds["response"] + kinds["revisit"] == kinds["request"] > 0


def test_an_index_line_leads_to_its_record(job):
    user, _, _ = job
    for path in (user.directory / "data" / "warc").rglob("*.cdxj.gz"):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines()[:20]:
            entry = json.loads(line.split(" ", 2)[2])
            warc = (user.directory / "data" / "warc").rglob(entry["filename"].rpartition("/")[2])
            data = next(warc).read_bytes()[int(entry["offset"]) :][: int(entry["length"])]
            assert entry["url"].encode() in gzip.decompress(data)


def test_shards_load_with_pyarrow_alone_and_hold_the_tokens_of_their_texts(job):
    user, said, _ = job
    encoder = Tokenizer.from_file(str(user.directory / "tokenizer.json"))
    found = rows(user)
    assert len(found) == said["dataset"]["documents"] > 100
    assert sum(len(row["input_ids"]) for row in found) == said["dataset"]["tokens"]
    for row in found[:50]:
        assert encoder.encode(row["text"], add_special_tokens=False).ids == row["input_ids"]


def test_a_row_leads_back_to_the_bytes_that_came_over_the_wire(job):
    user, _, _ = job
    for row in rows(user)[:50]:
        with (user.directory / "data" / row["record_file"]).open("rb") as stream:
            stream.seek(row["record_offset"])
            record = next(iter(WarcioIterator(stream)))
            assert record.rec_type == "response"
            assert record.rec_headers.get_header("WARC-Target-URI") == row["url"]


def test_no_text_is_there_twice(job):
    user, _, _ = job
    texts = Counter(row["text"] for row in rows(user))
    assert [text for text, count in texts.items() if count > 1] == []


def test_the_report_adds_up(job):
    user, said, _ = job
    funnel = user.run("report", "--json").json
    assert funnel.pop("cost")["sources"]
    assert funnel.pop("flags") == []
    assert funnel == said["funnel"] == json.loads((user.directory / "out" / "report.json").read_text())
    stages = funnel["stages"]
    assert sum(stage["documents"] for stage in stages) == funnel["records"]
    assert sum(stage["payload_bytes"] for stage in stages) == funnel["payload_bytes"]
    assert abs(sum(stage["share"] for stage in stages) - 1) < 1e-9
    assert stages[-1]["documents"] == said["dataset"]["documents"]
    assert stages[-1]["tokens"] == said["dataset"]["tokens"]
    outcomes = said["crawled"]["outcomes"]
    assert said["crawled"]["seen"] == sum(outcomes.values())


def test_the_funnel_is_drawn(job):
    user, _, _ = job
    user.run("report", "--plot", "funnel.png")
    assert (user.directory / "funnel.png").read_bytes().startswith(b"\x89PNG")


def test_the_dataset_is_read_as_the_demo_says(job):
    user, said, _ = job
    code = READ.replace("demo-out/shards/", "out/").replace(".slice(0, 3)", ".num_rows")
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=user.directory, capture_output=True, text=True, check=True
    )
    assert int(found.stdout) == said["dataset"]["documents"]


def test_everything_verifies_and_any_damage_is_found(job):
    user, _, _ = job
    assert user.run("verify", "--json").json["damage"] == []
    assert user.run("verify", "out", "--json").json["damage"] == []
    shard = next((user.directory / "out").glob("data/shard-*.parquet"))
    data = shard.read_bytes()
    shard.chmod(0o644)
    shard.write_bytes(data[:100] + b"X" + data[101:])
    damaged = user.run("verify", "out", "--json", code=1)
    assert shard.name in damaged.json["damage"][0]
    shard.write_bytes(data)


def test_running_it_again_fetches_nothing_and_changes_no_byte(job, web):
    user, said, _ = job
    before = {path: path.read_bytes() for path in (user.directory / "out").rglob("*") if path.is_file()}
    asked = len(web.log)
    again = user.run(
        "run", "seeds.txt", "--out", "out", "--tokenizer", "tokenizer.json", "--scope", "host", "--json"
    )
    assert len(web.log) == asked
    assert again.json["dataset"] == said["dataset"]
    assert {
        path: path.read_bytes() for path in (user.directory / "out").rglob("*") if path.is_file()
    } == before


@pytest.mark.slow
def test_another_dataset_is_refused_and_the_difference_named(job):
    user, _, _ = job
    line = user.run("run", "seeds.txt", "--out", "out", "--scope", "host", code=2).line
    assert "holds another dataset" in line
    assert "tokenizer" in line


def test_other_filters_are_refused_until_redone(job):
    user, said, _ = job
    toml = user.directory / "thresher.toml"
    before = toml.read_text()
    toml.write_text(before.replace('preset = "gopher"', 'preset = "none"'))
    line = user.run("process", code=2).line
    assert "--redo" in line
    assert "filters" in line
    toml.write_text(before)
    user.run("process", "--redo")
    again = user.run("report", "--json").json
    assert {name: again[name] for name in said["funnel"]} == said["funnel"]


def test_an_ingested_archive_gives_the_same_texts(job, tmp_path_factory):
    user, _, _ = job
    from tests.end_to_end.conftest import TOML, CallingUser

    directory = tmp_path_factory.mktemp("ingest")
    (directory / "thresher.toml").write_text(TOML)
    other = CallingUser(directory)
    warcs = sorted((user.directory / "data" / "warc").rglob("*.warc.gz"))
    other.run("ingest", "copy", *warcs)
    assert other.run("ingest", "copy", *warcs, "--json").json["added"] == 0
    other.run("process")
    other.run("dedup")
    other.run("export", "--out", "out", "--tokenizer", user.directory / "tokenizer.json")
    assert sorted(row["text"] for row in rows(other)) == sorted(row["text"] for row in rows(user))
