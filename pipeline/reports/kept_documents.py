"""`kept_documents`: the documents that the filters keep, row by row."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow.compute as pc

from thresher.pipeline.steps.records.edited_texts import with_edits
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.storage import tables
from thresher.storage.store import Store


def kept_documents(store: Store, sources: Iterable[str], verdict_set: str = "") -> Iterator[dict[str, Any]]:
    """Yield the rows of `storage.tables.DOCUMENTS` with the verdict `keep` of a set, in the order of the archive, their
    texts as the rules edited them.

    Memory holds one part at a time.

    Raise `CorruptData` if a table is not as it was sealed, and `InputError` if the set does not cover a source.
    """
    for source in sources:
        for part in judged_parts(store, source, verdict_set):
            judged = tables.read(store, part.verdicts, tables.columns(tables.VERDICTS, "id", "keep"))
            kept = judged.filter(judged["keep"])["id"]
            rows = tables.read(store, part.documents, tables.DOCUMENTS)
            rows = rows.filter(pc.is_in(rows["id"], value_set=kept))
            yield from with_edits(rows, tables.edits_by_id(store, part.verdicts)).to_pylist()
