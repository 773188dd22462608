"""Every token of a batch leads to its document and its archived record."""

import json

import numpy as np
import pytest

from tests.shards.loader.made_export import documents_of, make_export
from thresher.core import CorruptData, InputError, RecordRef
from thresher.shards.loader.exact_loader import Loader

LENGTH = 32


@pytest.fixture(scope="module")
def sources():
    return {"books": documents_of("books", 30, sizes=(20, 90)), "web": documents_of("web", 130)}


@pytest.fixture(scope="module")
def export(sources, tmp_path_factory):
    root = tmp_path_factory.mktemp("export")
    make_export(root, sources)
    return root


@pytest.mark.parametrize("packing", ["best-fit", "concat", "none"])
def test_a_token_leads_to_its_document(export, sources, packing, tmp_path):
    loader = Loader(
        export,
        length=LENGTH,
        batch_size=4,
        rank=1,
        world_size=3,
        packing=packing,
        mix={"web": 1, "books": 1},
        cache=tmp_path,
    )
    for batch in loader:
        state = json.loads(json.dumps(loader.state_dict()))
        for row, position in ((0, 0), (3, 17), (2, LENGTH - 1)):
            if not batch["segments"][row, position]:
                with pytest.raises(InputError, match=f"position {position} is padding"):
                    loader.trace(state, row=row, position=position)
                continue
            found = loader.trace(state, row=row, position=position)
            source, _, number = found.document.partition("-")
            assert sources[source][int(number)][found.token] == batch["input_ids"][row, position]
            assert found.url == f"https://{source}.example/{number}"
            assert found.source == source
            assert found.document_source == f"crawl of {source}"
            assert found.record == RecordRef(
                file=f"warc/{source}/{int(number) // 10}.warc.gz",
                offset=1000 * int(number),
                length=500 + int(number),
                digest=f"sha1:{number}",
            )
            assert found.shard.startswith(f"file:{export}/tokens/{source}/shard-")


def test_what_is_not_in_the_batch_is_refused(export, tmp_path):
    loader = Loader(export, length=LENGTH, batch_size=4, cache=tmp_path)
    for row, position in ((4, 0), (0, LENGTH), (-1, 0), (1.5, 0), (True, 0), (0, "1"), (None, 0)):
        with pytest.raises(InputError, match=r"(row|position)=.*: give a whole number from 0 to (3|31)"):
            loader.trace(loader.state_dict(), row=row, position=position)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no sequence in that row"):
        loader.trace(loader.state_dict(), row=0, position=0)


def test_damaged_references_are_named(sources, tmp_path):
    make_export(tmp_path, sources)
    loader = Loader(tmp_path, length=LENGTH, batch_size=1, cache=tmp_path)
    next(iter(loader))
    state = loader.state_dict()
    for path in (tmp_path / "tokens").glob("*/*.refs.parquet"):
        path.write_bytes(np.zeros(100, np.uint8).tobytes())
    with pytest.raises(CorruptData, match=r"\.refs\.parquet: .*verify"):
        loader.trace(state, row=0, position=0)
