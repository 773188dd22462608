"""Read a table of measurements as the columns that decisions are made from."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.filters.decision import MeasuredRows
from thresher.storage.tables import REASON_PREFIX


def measured_rows(table: pa.Table) -> MeasuredRows:
    """Return the columns of a table of `storage.tables.MEASUREMENTS` with its measurements."""
    return MeasuredRows(
        languages=np.array(table["language"].to_pylist(), dtype=np.object_),
        measurements={
            field.name: _floats(table[field.name]) for field in table.schema if field.type == pa.float64()
        },
        reasons={
            field.name.removeprefix(REASON_PREFIX): _texts(table[field.name])
            for field in table.schema
            if field.name.startswith(REASON_PREFIX)
        },
    )


def _floats(column: "pa.ChunkedArray[Any]") -> npt.NDArray[np.float64]:
    values = cast("list[float | None]", column.to_pylist())
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _texts(column: "pa.ChunkedArray[Any]") -> npt.NDArray[np.object_]:
    return np.array([value or "" for value in column.to_pylist()], dtype=np.object_)
