"""A revisit is counted, and its text is that of the record that it refers to: once."""

from uuid import UUID

import pytest

from tests.storage.captures import STARTED_MS, capture
from tests.storage.reading import sealed
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.steps import process
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage import tables
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc.compression import SUFFIXES

FILTERS = FiltersConfig(preset="none", languages=())
PAGE = b"<html><body>" + b"<p>Rivers run to the sea, and all of them are long.</p>" * 40 + b"</body></html>"


@pytest.mark.parametrize("compression", SUFFIXES)
def test_a_revisit_is_skipped_with_its_reason_and_the_page_is_a_document_once(tmp_path, pool, compression):
    store = DirectoryStore(tmp_path / "data")
    made = ArchiveWriter(store, "main", writer="w", user_agent="t", compression=compression)
    for number in range(3):
        one = capture(PAGE, wire=f"https://example.org/{number}", started_ms=STARTED_MS + number)
        made.append(one, UUID(int=number), metadata=CaptureMetadata())
        made.commit()
    made.seal()
    step, parts = process.step(FILTERS), process.parts(store, "main", FILTERS)
    run_step.run_step(store, step, parts, process.work, pool=pool, progress=LineProgress())
    (manifest,) = manifests(store, "process", "main")
    assert manifest.counts["keep.documents"] == 1
    assert manifest.counts["early/revisit.documents"] == 2
    (name,) = store.list("documents/")
    assert tables.read(store, sealed(store, name), tables.DOCUMENTS).column("url").to_pylist() == [
        "https://example.org/0"
    ]
