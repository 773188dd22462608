"""Put the edited texts of documents into a table of them."""

from collections.abc import Mapping

import pyarrow as pa

from thresher.core import Edit
from thresher.filters.edits import apply


def with_edits(documents: pa.Table, edits: Mapping[str, tuple[Edit, ...]]) -> pa.Table:
    """Return documents (columns `id` and `text` among others) with their texts as `edits`, by id, change them."""
    if not edits:
        return documents
    rows = zip(documents["id"].to_pylist(), documents["text"].to_pylist(), strict=True)
    texts = [apply(str(text), edits.get(str(id_), ())) for id_, text in rows]
    at = documents.schema.get_field_index("text")
    return documents.set_column(at, documents.schema.field(at), pa.array(texts, pa.string()))
