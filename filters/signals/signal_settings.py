"""`SignalSettings`: the keys of `[filters]` for what no published rule set has.

Paths are relative to the project's directory. `pipeline.steps.records.signal_files` puts the files into the storage,
under their digests, and replaces the paths by the names there.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from thresher.core.settings import Key, rule
from thresher.filters.signals.pseudonyms import KINDS

_KINDS = rule(lambda kinds: set(kinds) <= set(KINDS), f"must name some of {', '.join(KINDS)}")
_REGIONS = rule(
    lambda regions: all(re.fullmatch(r"[A-Z]{2}", each) for each in regions),
    "must be countries of ISO 3166 such as 'US'",
)
_LICENSES = rule(
    lambda names: all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]{1,39}", each) for each in names),
    "must be SPDX identifiers such as 'CC-BY-4.0', or 'CC-BY' for every version",
)
_SHARE = rule(lambda share: 0 <= share <= 1, "must be between 0 and 1")
_NGRAM = rule(lambda words: 4 <= words <= 50, "must be 4 to 50 words")
_LIMIT = rule(lambda limit: 0 <= limit < math.inf, "must not be negative and must be finite")
Bucket = Literal["head", "middle", "tail"]
"""CCNet's names of thirds of a language, from low perplexity to high."""


class PerplexityModel(NamedTuple):
    """The stored files that measure the perplexity of texts in a language."""

    language: str
    """ISO 639 code; empty for texts in any language."""
    kenlm: str
    pieces: str = ""
    """SentencePiece model; empty if the model of KenLM is over words."""


class BucketEnds(NamedTuple):
    """The perplexities at which the head and the middle of a language end; neither belongs to what it ends."""

    language: str
    head: float
    middle: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSettings:
    """Which signals are measured; one without its file or list is not."""

    mask: Annotated[
        tuple[str, ...],
        _KINDS,
        Key('personal data that is replaced in the text: "email", "ip", "phone", "card", "iban", "key"'),
    ] = ()
    mask_key: Annotated[
        str,
        Key('"env:VARIABLE" or a file with a secret: equal values get equal replacements; see the guide'),
    ] = ""
    mask_regions: Annotated[
        tuple[str, ...], _REGIONS, Key("countries whose phone numbers are found without a country code")
    ] = ("US", "GB")
    licenses: Annotated[
        tuple[str, ...],
        _LICENSES,
        Key('only documents under one of these are kept: "CC-BY-SA-4.0", or "CC-BY" for every version'),
    ] = ()
    word_lists: Annotated[
        str, Key("a file of words, or a directory with a file for each language (en, en.txt)")
    ] = ""
    max_listed_words: Annotated[
        float, _SHARE, Key("share of listed words in a document at most; 0 allows none")
    ] = 0.0
    toxicity_model: Annotated[str, Key("a fastText classifier; see the guide")] = ""
    toxicity_label: Annotated[str, Key("the label whose score counts")] = "toxic"
    max_toxicity: Annotated[float, _SHARE, Key("documents with a higher score are dropped")] = 0.5
    quality_model: Annotated[str, Key("a fastText classifier, such as `thresher train quality` makes")] = ""
    quality_label: Annotated[str, Key("the label whose score counts")] = "good"
    min_quality: Annotated[float, _SHARE, Key("documents with a lower score are dropped")] = 0.5
    perplexity_model: Annotated[
        str,
        Key("a KenLM model (ARPA or binary); `{language}` in it stands for the code of the text's language"),
    ] = ""
    perplexity_pieces: Annotated[
        str,
        Key("the SentencePiece model whose pieces the KenLM model is over, as CCNet's; also by {language}"),
    ] = ""
    min_perplexity: Annotated[float, _LIMIT, Key("documents with a lower perplexity are dropped")] = 0.0
    max_perplexity: Annotated[
        float, _LIMIT, Key("documents with a higher perplexity are dropped; 0 sets no limit")
    ] = 0.0
    perplexity_cutoffs: Annotated[
        str, Key("a table of percentiles by language, such as CCNet's cutoff.csv: texts get a bucket")
    ] = ""
    max_perplexity_bucket: Annotated[
        Bucket, Key('the last bucket that is kept: "head", "middle" or "tail"; see the guide')
    ] = "tail"
    benchmarks: Annotated[
        tuple[str, ...], Key("files of benchmark texts (.jsonl, .json, .txt, also .gz and .zst)")
    ] = ()
    benchmark_words: Annotated[int, _NGRAM, Key("words in a row that count as contamination")] = 13
    max_contamination: Annotated[
        float, _SHARE, Key("share of n-grams of benchmarks in a document at most; 0 allows none")
    ] = 0.0
    key: bytes = field(default=b"", repr=False)
    """The secret that `mask_key` names."""
    perplexity_models: tuple[PerplexityModel, ...] = ()
    """The stored files of `perplexity_model` and `perplexity_pieces`."""
    bucket_ends: tuple[BucketEnds, ...] = ()
    """What `perplexity_cutoffs` says."""
