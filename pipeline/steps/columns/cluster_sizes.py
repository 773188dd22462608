"""`ClusterSizes`: how many duplicates the cluster of each document has."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.pipeline.steps.verdicts.removed_documents import ID_BYTES, Ids, find_ids, ids_of
from thresher.storage import tables
from thresher.storage.manifest import Output
from thresher.storage.store import Store


class ClusterSizes(NamedTuple):
    """The largest cluster of each document that stays for others. Holds 36 bytes for each of them."""

    ids: Ids
    sizes: npt.NDArray[np.uint32]

    def sizes_of(self, ids: Ids) -> npt.NDArray[np.uint32]:
        """Return the size of the cluster of each document; 1 for a document without duplicates."""
        found, at = find_ids(ids, self.ids)
        sizes = np.ones(len(ids), dtype="<u4")
        sizes[found] = self.sizes[at[found]]
        return sizes


def cluster_sizes(store: Store, removals: Output) -> ClusterSizes:
    """Return the clusters of duplicates by the document that stays, from the table of removals."""
    schema = tables.columns(tables.REMOVALS, "witness", "cluster_size")
    rows = [
        (ids_of(each["witness"], removals.name), each["cluster_size"].to_numpy().astype("<u4"))
        for each in tables.row_groups(store, removals, schema)
    ]
    ids = np.concatenate([np.zeros(0, f"S{ID_BYTES}"), *(each for each, _ in rows)])
    sizes = np.concatenate([np.zeros(0, "<u4"), *(each for _, each in rows)])
    order = np.lexsort((sizes, ids))
    ids, sizes = ids[order], sizes[order]
    last = np.append(ids[1:] != ids[:-1], True) if len(ids) else np.zeros(0, np.bool_)
    return ClusterSizes(ids[last], sizes[last])
