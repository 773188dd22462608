"""Rows of documents whose token ids are marked (`shards.loss_marks`), as rows with labels."""

from typing import Any

import numpy as np
import pyarrow as pa

from thresher.shards.formats.shard_rows import LABELS, flat_ids
from thresher.shards.loss_marks import unmarked


def loss_count(rows: pa.Table) -> int:
    """Return how many tokens of rows with marked ids bear loss."""
    return int((flat_ids(rows["input_ids"])[0] >= 0).sum())


def with_labels(rows: pa.Table) -> pa.Table:
    """Return rows with plain ids and a column of labels."""
    ids, ends = flat_ids(rows["input_ids"])
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), ends]), pa.int32())
    plain, labels = unmarked(ids.view(np.uint32).astype(np.int64))
    columns: dict[str, Any] = {name: rows[name] for name in rows.column_names}
    columns["input_ids"] = pa.ListArray.from_arrays(offsets, pa.array(plain, pa.int32()))
    columns[LABELS] = pa.ListArray.from_arrays(offsets, pa.array(labels, pa.int32()))
    return pa.table(columns)
