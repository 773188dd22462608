"""Mark in an array of token ids which tokens bear no loss: their highest bit, of 32, is set.

So a token and its mark travel together through runs, shards, caches and packing, and take four bytes. Rows have labels
instead (`shards.formats.shard_rows.LABELS`).
"""

import numpy as np
import numpy.typing as npt

NO_LOSS = 1 << 31
NO_LABEL = -100
"""What `CrossEntropyLoss` of PyTorch leaves out by default."""
ID_BITS = NO_LOSS - 1


def marked(ids: npt.NDArray[np.uint32], bears_loss: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """Return ids, all below 2**31, with the marks of those that bear no loss."""
    return np.where(bears_loss, ids, ids | np.uint32(NO_LOSS)).astype(np.uint32).view(np.int32)


def unmarked(ids: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return ids without their marks, and labels, given marked ids as numbers of 32 bits without a sign."""
    plain = ids & ID_BITS
    return plain, np.where(ids > ID_BITS, NO_LABEL, plain)
