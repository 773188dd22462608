"""`kept_documents`: the documents that the filters keep, row by row."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow.compute as pc

from pipeline.edited_texts import with_edits
from pipeline.steps.process import NAME
from storage import tables
from storage.manifest import manifests
from storage.store import Store


def kept_documents(store: Store, sources: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of `storage.tables.DOCUMENTS` with the verdict `keep`, in the order of the archive, their texts as
    the rules edited them.

    Memory holds one part at a time.

    Raise `CorruptData` if a table is not as it was sealed.
    """
    for source in sources:
        for manifest in manifests(store, NAME, source):
            table = {output.name.partition("/")[0]: output for output in manifest.outputs}
            judged = tables.read(store, table["verdicts"], tables.columns(tables.VERDICTS, "id", "keep"))
            kept = judged.filter(judged["keep"])["id"]
            rows = tables.read(store, table["documents"], tables.DOCUMENTS)
            rows = rows.filter(pc.is_in(rows["id"], value_set=kept))
            yield from with_edits(rows, tables.edits_by_id(store, table["verdicts"])).to_pylist()
