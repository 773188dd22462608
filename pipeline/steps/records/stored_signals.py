"""The stored files of signals, as a worker reads them. A process reads each file once.

A worker process loads models before it is confined, because their libraries read files by path (`load_models`). What
needs no path is read when the first text is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from thresher.core import CorruptData
from thresher.filters.signals.signal_settings import SignalSettings
from thresher.pipeline.engine.step import Preparation

if TYPE_CHECKING:
    from thresher.filters.signals.contamination import KnownHashes
    from thresher.filters.signals.word_lists import Phrases
    from thresher.pipeline.engine.part_store import PartStore

T = TypeVar("T")
PREFIX = "signals"
"""Folder of the files in the storage."""
KENLM = "kenlm"
PIECES = "sentencepiece"
"""Begins of the names of models that are KenLM's and SentencePiece's."""

_LOADED: dict[str, Any] = {}
"""What this process has loaded, by name. A name has a digest, so it never means another file."""


def file_names(settings: SignalSettings) -> tuple[str, ...]:
    """Return the names of the stored files that are no models."""
    return tuple(filter(None, (settings.word_lists, *settings.benchmarks)))


def preparation(settings: SignalSettings) -> Preparation | None:
    """Return what a worker process loads before it is confined; None if that is nothing."""
    models = [settings.toxicity_model, settings.quality_model]
    for each in settings.perplexity_models:
        models += [each.kenlm, each.pieces]
    names = tuple(dict.fromkeys(filter(None, models)))
    return Preparation(load_models, names) if names else None


def load_models(store: PartStore, names: Sequence[str]) -> None:
    """Load models for this process. Raise `CorruptData` if one is not as it was put."""
    files = StoredFiles(store)
    for name in names:
        if name.startswith(f"{PREFIX}/{KENLM}-"):
            files.scorer(name)
        elif name.startswith(f"{PREFIX}/{PIECES}-"):
            files.pieces(name)
        else:
            files.classifier(name)


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The stored files. Every method raises `CorruptData` if a file is not as it was put."""

    store: PartStore

    def word_lists(self, name: str) -> Mapping[str, Phrases]:
        """Return the phrases of word lists by language."""
        from thresher.filters.signals.word_lists import decode_lists

        return self._loaded(name, decode_lists)

    def ngrams(self, name: str) -> KnownHashes:
        """Return the hashes of the n-grams of benchmarks."""
        from thresher.filters.signals.contamination import decode_hashes

        return self._loaded(name, decode_hashes)

    def classifier(self, name: str) -> Callable[[str, str], float]:
        """Return a fastText classifier: a function of a text and a label."""
        from thresher.filters.signals.fasttext_file import load_classifier

        return self._loaded(name, load_classifier)

    def scorer(self, name: str) -> Callable[[str], float]:
        """Return a language model: a function of a line."""
        from thresher.filters.signals.kenlm_file import load_scorer

        return self._loaded(name, load_scorer)

    def pieces(self, name: str) -> Callable[[str], list[str]]:
        """Return a SentencePiece model: a function of a line."""
        from thresher.filters.signals.kenlm_file import load_pieces

        return self._loaded(name, load_pieces)

    def _loaded(self, name: str, load: Callable[[bytes], T]) -> T:
        if name not in _LOADED:
            data = self.store.read(name)
            if hashlib.sha256(data).hexdigest() not in name:
                raise CorruptData(f"{name} is damaged; run `thresher process` again, which puts it again")
            _LOADED[name] = load(data)
        return cast("T", _LOADED[name])
