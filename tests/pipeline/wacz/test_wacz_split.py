"""A crawl that is split is the same crawl: each file is a WACZ below the limit, and the list names them all."""

import hashlib
import json
import random
import zipfile
from uuid import UUID

import pytest

from tests.pipeline.wacz.test_page_list import SITE
from tests.pipeline.wacz.test_wacz_export import lines_of
from tests.storage.captures import STARTED_MS, capture
from thresher.core import InputError
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.qa.wacz_archive import WaczArchive
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz import wacz_export
from thresher.pipeline.wacz.wacz_export import WaczOptions, export_wacz
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.directory_store import DirectoryStore

LIMIT = 60_000


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Twelve pages in files of about 10 kB each. The last two have the payload of the first one and of the one before."""
    store = DirectoryStore(tmp_path_factory.mktemp("split") / "data")
    made = ArchiveWriter(store, "s", writer="w", user_agent="t", max_bytes=10_000)
    for number, seed in enumerate([*range(10), 0, 9]):
        body = b"<title>%d</title>" % number + random.Random(seed).randbytes(8_000).hex().encode()
        if seed != number:
            body = b"<title>%d</title>" % seed + body.partition(b"</title>")[2]
        made.append(
            capture(body, wire=f"{SITE}/{number}", started_ms=STARTED_MS + number * 1000), UUID(int=number)
        )
        made.commit()
    made.seal()
    return store


def split(store, out, max_bytes=LIMIT):
    return export_wacz(store, "s", out, "Some", LineProgress(), WaczOptions(max_bytes=max_bytes))


def read(path):
    with zipfile.ZipFile(path) as package:
        described = json.loads(package.read("datapackage.json"))
        return described, lines_of(package), package.read("pages/pages.jsonl").decode().splitlines()[1:]


def test_the_list_names_files_below_the_limit_that_have_all_records_and_pages_once(store, tmp_path):
    summary = split(store, tmp_path / "some.json")
    export_wacz(store, "s", tmp_path / "one.wacz", "Some", LineProgress())

    listed = json.loads((tmp_path / "some.json").read_text())
    assert listed["profile"] == "multi-wacz-package"
    assert (listed["title"], listed["mainPageUrl"]) == ("Some", f"{SITE}/0")
    names = [each["path"] for each in listed["resources"]]
    assert names == list(summary.files) == [f"some-{number:03d}.wacz" for number in range(1, len(names) + 1)]
    assert len(names) > 2
    lines, pages = [], []
    for number, each in enumerate(listed["resources"], 1):
        data = (tmp_path / each["path"]).read_bytes()
        assert each["name"] == each["path"]
        assert (each["bytes"], each["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        assert len(data) <= LIMIT
        described, some_lines, some_pages = read(tmp_path / each["path"])
        assert described["title"] == f"Some ({number} of {len(names)})"
        lines += some_lines
        pages += some_pages
    _, all_lines, all_pages = read(tmp_path / "one.wacz")
    assert (sorted(lines), sorted(pages)) == (all_lines, sorted(all_pages))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.wacz", *names, "some.json"]


def test_a_file_names_those_that_hold_payloads_of_its_revisits(store, tmp_path):
    split(store, tmp_path / "some.json")
    names = json.loads((tmp_path / "some.json").read_text())["resources"]
    required = {each["path"]: read(tmp_path / each["path"])[0].get("relation") for each in names}
    *others, last = required
    assert required[last] == {"requires": [{"filename": "some-001.wacz"}]}
    assert {name: required[name] for name in others} == dict.fromkeys(others)


def test_the_same_storage_gives_the_same_files(store, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        split(store, tmp_path / name / "some.json")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_one_file_is_a_list_of_one(store, tmp_path):
    assert split(store, tmp_path / "some.json", 10**9).files == ("some-001.wacz",)
    assert len(json.loads((tmp_path / "some.json").read_text())["resources"]) == 1


def test_a_size_below_that_of_a_warc_file_is_refused_with_that_size(store, tmp_path):
    with pytest.raises(
        InputError, match=r"--split: warc/s/s-w-\d{5}.warc.gz needs a WACZ of [\d,]+ bytes"
    ) as error:
        split(store, tmp_path / "some.json", 20_000)
    assert list(tmp_path.iterdir()) == []
    enough = int(str(error.value).partition("WACZ of ")[2].partition(" bytes")[0].replace(",", ""))
    assert enough < LIMIT


def test_more_files_than_may_be_open_are_refused(store, tmp_path, monkeypatch):
    monkeypatch.setattr(wacz_export, "MAX_PARTS", 2)
    with pytest.raises(InputError, match="--split: more than 2 files would be made; give a larger size"):
        split(store, tmp_path / "some.json")
    assert list(tmp_path.iterdir()) == []


def test_the_list_is_ingested_as_the_files_that_it_names(store, tmp_path):
    split(store, tmp_path / "some.json")
    export_wacz(store, "s", tmp_path / "one.wacz", "Some", LineProgress())
    records = []
    for number, name in enumerate(("some.json", "one.wacz")):
        again = DirectoryStore(tmp_path / f"store-{number}")
        result = ingest(again, "s", locate_inputs([tmp_path / name]))
        assert not result.refused
        export_wacz(again, "s", tmp_path / f"again-{number}.wacz", "Some", LineProgress())
        records.append([line.split()[:2] for line in read(tmp_path / f"again-{number}.wacz")[1]])
    assert records[0] == records[1]
    assert len(records[0]) == 12


def test_the_list_is_examined_as_one_archive(store, tmp_path):
    split(store, tmp_path / "some.json")
    archive = WaczArchive(tmp_path / "some.json", tmp_path)
    try:
        assert archive.page_count == 12
        found = [archive.find(f"{SITE}/{number}", archive.page(0).date_ms) for number in range(12)]
    finally:
        archive.close()
    titles = [record and record.payload.partition(b"</title>")[0] for record in found]
    assert titles == [b"<title>%d" % number for number in (*range(10), 0, 9)], "the last two are revisits"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda folder, listed: (folder / "some-001.wacz").unlink(), "some-001.wacz, which is not beside it"),
        (lambda folder, listed: (folder / "some-001.wacz").write_bytes(b"PK"), "its sha256 differs"),
        (lambda folder, listed: listed.clear(), "lists no WACZ file"),
        (lambda folder, listed: listed[0].update(path="../some-001.wacz"), "which is not beside it"),
        (lambda folder, listed: listed[0].update(path="https://a.test/some.txt"), "which is no WACZ file"),
    ],
)
def test_a_list_that_is_not_as_its_files_are_is_refused(store, tmp_path, change, fault):
    folder = tmp_path / "lists"
    folder.mkdir()
    split(store, folder / "some.json", 10**9)
    listed = json.loads((folder / "some.json").read_text())
    change(folder, listed["resources"])
    (folder / "some.json").write_text(json.dumps(listed))
    with pytest.raises(InputError, match=fault):
        list(locate_inputs([folder / "some.json"]))
    with pytest.raises(InputError, match=fault):
        WaczArchive(folder / "some.json", tmp_path)


def test_the_list_below_a_directory_is_an_index_beside_its_files(store, tmp_path):
    folder = tmp_path / "all"
    folder.mkdir()
    split(store, folder / "some.json")
    lines = []
    ingest(DirectoryStore(tmp_path / "store"), "s", locate_inputs([folder]), on_result=lines.append)
    assert {(line.name, line.status) for line in lines if line.status != "added"} == {("some.json", "index")}
