"""`HeldOut`: which documents are held out of a training set, for evaluation.

A key (a domain, or a URL) is on one side of the border, whatever else there is: in every export, before and after more
is crawled, and for a larger share too, which holds out what a smaller one does and more. So all documents of a domain
are on one side; near duplicates of others have been removed by deduplication.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core import InputError

Split = Literal["train", "held-out"]
HeldOutBy = Literal["domain", "url"]
_SEED = 0x4E1D


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """What is held out, and which side of the border is taken."""

    share: float
    """Share of the keys, above 0 and below 1."""
    by: HeldOutBy = "domain"
    split: Split = "train"

    def takes(self, keys: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Return for each key whether its documents are taken."""
        border = int(self.share * 2**64)
        held = [xxhash.xxh3_64_intdigest(key.encode(errors="surrogatepass"), _SEED) < border for key in keys]
        taken: npt.NDArray[np.bool_] = np.array(held, np.bool_) == (self.split == "held-out")
        return taken


def parse_share(text: str | float) -> float:
    """Return a share such as `1%` or `0.01`. Raise `InputError` if it is none, or all or nothing."""
    try:
        share = float(str(text).removesuffix("%")) / (100 if str(text).endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise InputError(f"--held-out {text}: give a share above 0 and below 1, such as 1%")
    return share
