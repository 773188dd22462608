"""Minimum scores by language: FineWeb-2's, as its authors publish them (github.com/huggingface/fineweb-2, `configs/`,
key `language_score`; the rule behind them is max(.3, min(.9, median - standard deviation)) of the scores of a language,
arXiv:2506.20920).

FineWeb-2 has a threshold for each language and script; this table has that of the script with the most documents.
FineWeb-2 made them for the scores of GlotLID. The scores of the ensemble are calibrated, and lie above .9 for nearly
every long text in one language. FineWeb-2 has no English and leaves some languages out: these have FineWeb's .65
(arXiv:2406.17557, section 3.1).
"""

import difflib
from collections.abc import Iterable

from thresher.core import InputError
from thresher.filters.models.language_codes import canonical

DEFAULT = 0.65
_BY_SCORE = {
    0.3: (
        "ace af ak am an ast ay az azb bar bcl cbk ceb crh crs da dsb dty ext fj frr fuv ga gcr gl "
        "gn gsw guw gv ha hif hsb ht ia ie ig ilo jv ki kl km krc ks lb lg li lij lmo ln ltg lv mfe "
        "mi min mt mwl myv mzn nap nds new nn nr nso ny oc om or pam pcm pfl qu rn rue sah sc scn "
        "sco sdh se sg sm sn so ss st su sw ti tn ts ve vec vep vls war wo wuu xh yo za zu"
    ),
    0.32: "dz",
    0.327: "lrc",
    0.339: "arz",
    0.355: "mrj",
    0.41: "mai",
    0.412: "yue",
    0.418: "ary",
    0.431: "fo",
    0.467: "hr",
    0.516: "bi bs",
    0.518: "co",
    0.519: "diq",
    0.535: "wa",
    0.575: "rw",
    0.596: "kv nah",
    0.6: "sl",
    0.607: "pms",
    0.611: "to xal",
    0.618: "ms",
    0.619: "mg",
    0.629: "sv",
    0.637: "gd",
    0.638: "et",
    0.642: "tyv",
    0.645: "kab",
    DEFAULT: "aa bh bxr eml en grc hbo hmn ik iu na syr",
    0.656: "kw",
    0.66: "ce",
    0.666: "tk",
    0.667: "sk",
    0.677: "gcf",
    0.678: "hy",
    0.68: "tl vo",
    0.681: "mhr",
    0.682: "bo",
    0.685: "id",
    0.687: "xmf",
    0.689: "nl pl",
    0.69: "lez",
    0.691: "lo",
    0.692: "hi zh",
    0.697: "io",
    0.699: "as lt",
    0.701: "eu",
    0.711: "ar",
    0.713: "ckb",
    0.714: "av",
    0.716: "os",
    0.718: "kha",
    0.719: "rm",
    0.72: "gom",
    0.722: "te",
    0.723: "fy",
    0.727: "la",
    0.728: "gu",
    0.732: "cv pnb",
    0.744: "hu",
    0.745: "cy",
    0.756: "ky",
    0.757: "sq",
    0.764: "fi",
    0.766: "tg",
    0.768: "jbo",
    0.795: "ps",
    0.797: "chr sa",
    0.798: "si",
    0.799: "pt",
    0.802: "vi",
    0.803: "haw",
    0.809: "br",
    0.812: "ab",
    0.813: "no",
    0.815: "ca sd",
    0.816: "bpy",
    0.817: "it uz",
    0.821: "de yi",
    0.822: "ro",
    0.824: "fr",
    0.826: "el",
    0.837: "eo",
    0.839: "my",
    0.84: "es pa",
    0.842: "ko",
    0.844: "kk",
    0.847: "ur",
    0.85: "fa",
    0.858: "ku",
    0.86: "tt",
    0.863: "is",
    0.872: "bn sr",
    0.874: "ug",
    0.875: "tr",
    0.88: "cs mk",
    0.886: "ja",
    0.888: "ta",
    0.889: "mn",
    0.892: "be lif",
    0.896: "ne",
    0.9: "ba bg dv he ka kn ml mr ru th uk",
}
THRESHOLDS = {code: score for score, codes in _BY_SCORE.items() for code in codes.split()}
"""The minimum score of every language that a model of the ensemble can recognise."""


def default_threshold(code: str) -> float:
    """Return the minimum score of a language."""
    return THRESHOLDS[code]


def require_languages(codes: Iterable[str], key: str) -> tuple[str, ...]:
    """Return the one code of each language, each once. Raise `InputError` as `require_language` does."""
    return tuple(dict.fromkeys(require_language(code, key) for code in codes))


def require_language(code: str, key: str) -> str:
    """Return the one code of a language. Raise `InputError`, which names the `key` of the configuration, if no model
    recognises it.
    """
    found = canonical(code)
    if found in THRESHOLDS:
        return found
    near = difflib.get_close_matches(code, sorted(THRESHOLDS), n=1, cutoff=0.0)
    raise InputError(
        f"{key}: {code!r} is no language that can be recognised; use codes of ISO 639-1 such as 'en', or of ISO 639-3 "
        f"if there is none; did you mean {near[0]!r}?"
    )
