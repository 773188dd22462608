"""Real archives of many makes are read, with their damage counted, or refused with a reason."""

import pytest

from tests.shared import shared_file
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.storage.archive.originals import find_originals
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc.records import read_records, record_at
from thresher.storage.warc.revisit import REVISIT

pytestmark = pytest.mark.shared

READ = {
    "aut/example.arc.gz": ("arc", 300, 299, {}),
    "aut/example.docs.warc.gz": ("warc", 21, 9, {}),
    "aut/example.txt.warc.gz": ("warc", 6, 2, {}),
    "aut/example.warc.gz": ("warc", 822, 299, {}),
    "aut/issue-493.warc": ("warc", 32, 15, {}),
    "browsertrix/example.wacz": ("wacz", 16, 7, {}),
    "cc_net/sample.warc.txt": ("warc", 6, 5, {"damaged": 3}),
    "chatnoir-resiliparse/block-sized-records.warc.gz": ("warc", 3, 0, {}),
    "chatnoir-resiliparse/block-sized-records.warc.lz4": ("warc", 3, 0, {}),
    "chatnoir-resiliparse/clueweb-quirk.warc.gz": ("warc", 30, 29, {}),
    "chatnoir-resiliparse/warcfile.warc.gz": ("warc", 50, 16, {}),
    "chatnoir-resiliparse/warcfile.warc.lz4": ("warc", 50, 16, {}),
    "dolma/sample-0000.warc.gz": ("warc", 48, 24, {}),
    "ia-web-commons/IAH-20080430204825-00000-blackbook-truncated.arc": ("arc", 9, 8, {}),
    "ia-web-commons/IAH-urls-wget.warc": ("warc", 36, 19, {}),
    "ia-web-commons/html-lang-attribute.warc": ("warc", 5, 5, {}),
    "ia-web-commons/link-extraction-test.warc": ("warc", 10, 9, {}),
    "ia-web-commons/meta-itemprop.warc": ("warc", 1, 1, {}),
    "pywb/dupes.warc.gz": ("warc", 25, 12, {}),
    "pywb/example-extra.warc": ("warc", 6, 4, {}),
    "pywb/example-url-agnostic-orig.warc.gz": ("warc", 2, 1, {}),
    "pywb/example-url-agnostic-revisit.warc.gz": ("warc", 2, 1, {}),
    "pywb/example-wpull.warc.gz": ("warc", 4, 2, {}),
    "pywb/iana.warc.gz": ("warc", 343, 171, {}),
    "pywb/valid_example_1.wacz": ("wacz", 5, 1, {}),
    "warcio/bad.arc": ("arc", 2, 1, {"wrong_length": 2}),
    "warcio/example-bad.warc.gz.bad": ("warc", 7, 3, {}),
    "warcio/example-digest.warc": ("warc", 4, 0, {}),
    "warcio/example-iana.org-chunked.warc": ("warc", 3, 1, {}),
    "warcio/example-space-in-target-uri.warc.gz": ("warc", 2, 1, {}),
    "warcio/example-trunc.warc": ("warc", 5, 2, {"damaged": 1}),
    "warcio/example-wget-bad-target-uri.warc.gz": ("warc", 6, 3, {}),
    "warcio/example.arc": ("arc", 2, 1, {}),
    "warcio/example.arc.gz": ("arc", 2, 1, {}),
    "warcio/example.warc": ("warc", 6, 2, {}),
    "warcio/example.warc.gz": ("warc", 6, 2, {}),
    "whirlwind-python/whirlwind.warc": ("warc", 4, 1, {}),
    "whirlwind-python/whirlwind.warc.gz": ("warc", 4, 1, {}),
    "whirlwind-python/whirlwind.warc.wat": ("warc", 2, 0, {}),
    "whirlwind-python/whirlwind.warc.wat.gz": ("warc", 2, 0, {}),
    "whirlwind-python/whirlwind.warc.wet": ("warc", 2, 1, {}),
    "whirlwind-python/whirlwind.warc.wet.gz": ("warc", 2, 1, {}),
}
"""Kind, records in the archive (of what is rewritten, one more than the input had), those that get a verdict, and those that
were passed over or are damaged.
"""
REFUSED = {
    "cc-index/collinfo.json": "line 1 is no JSON object",
    "cc-index/index-server-rows.jsonl": "line 1 has no column text, html or messages",
    "ia-web-commons/double-single-inflate-error.gz": "cannot be unpacked (broken_compression)",
    "ia-web-commons/empty.gz": "holds nothing",
    "ia-web-commons/hi-2.gz": "does not say what it is",
    "pywb/invalid_example_1.wacz": "datapackage.json names data/indexes/index.cdx.gz, which is not in it",
    "pywb/missing-status-text.warc": "no record in it can be used",
    "whirlwind-python/CC-MAIN-2024-22.warc.paths.gz": "does not say what it is",
}
INDEX = (".cdx", ".cdxj", ".idx", ".loc", ".cdx.gz")


@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    """The storage, and what became of each file."""
    files, told = DirectoryStore(tmp_path_factory.mktemp("archives") / "data"), []
    ingest(files, "a", locate_inputs([shared_file("archives")]), None, told.append)
    return files, {each.name: each for each in told}


def test_all_that_can_be_read_is_read_and_what_is_damaged_counted(ingested):
    _, found = ingested
    read = {
        name: (each.kind, each.records, each.entries, each.unusable)
        for name, each in found.items()
        if each.status == "added"
    }
    assert {name: read.get(name) for name in READ} == READ


def test_all_else_is_refused_with_its_reason(ingested):
    files, found = ingested
    refused = {name: each.reason for name, each in found.items() if each.status == "refused"}
    assert refused.keys() == REFUSED.keys()
    for name, reason in REFUSED.items():
        assert reason in refused[name]
        assert name in refused[name]
    sources = {manifest.recipe["ingested"] for manifest in manifests(files, "archive")}
    assert sources == {name for name, each in found.items() if each.status == "added"}


def test_indexes_are_passed_over_and_said(ingested):
    _, found = ingested
    indexes = {name for name, each in found.items() if each.status == "index"}
    assert indexes == {name for name in found if name.endswith(INDEX)}
    assert len(indexes) > 10


def test_ingested_again_everything_is_known(ingested):
    files, _ = ingested
    before = list(files.list())
    again = ingest(files, "a", locate_inputs([shared_file("archives")]))
    assert (again.added, again.known) == (0, len(READ))
    assert list(files.list()) == before


def test_revisits_lead_to_what_they_refer_to_in_whatever_file_it_is(ingested):
    files, _ = ingested
    names = [name for name in files.list("warc/a/") if not name.endswith(".cdxj.gz")]
    wanted = {}
    for name in names:
        with files.open(name) as file:
            wanted |= {
                each.revisit: name
                for each in read_records(file, name=name)
                if each.type == REVISIT and each.revisit
            }
    found = find_originals(files, names, wanted)
    lost = {name.rpartition("/")[2] for revisit, name in wanted.items() if revisit not in found}
    assert lost <= {"browsertrix--example.wacz-00000.warc.gz"}
    (elsewhere,) = (revisit for revisit, name in wanted.items() if "agnostic" in name)
    assert found[elsewhere].url == "http://example.iana.org/"
    assert record_at(files, found[elsewhere].ref).payload
