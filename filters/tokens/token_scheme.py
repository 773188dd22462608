"""`TokenScheme`: how the tokens of a language are split. `filters.word_tokens` has the algorithm.

`token_schemes.toml` beside this module has what differs from the common scheme, and `token_words.toml` abbreviations
and contractions. The keys of a scheme, all optional:

- `like`: the scheme whose keys hold where this one has none, instead of `common`;
- `prefixes`, `suffixes`, `infixes`, `whole`: expressions. A prefix goes from the start of a run, a suffix from its end,
  an infix splits what is left, and what one of `whole` and then `whole_end` match stays in one piece;
- `infixes_added`: infixes behind those of the common scheme;
- `prefix_marks_removed`, `suffix_marks_removed`, `suffix_marks_added`: single characters that differ from the common
  scheme's;
- `suffix_ends`: last characters of suffixes that the common scheme has not; `hyphen_suffixes`: whether suffixes with a
  hyphen may end otherwise; `whole_sign`: what all matches of `whole` contain;
- `final_dot`: what stands before a dot that goes from the end; `single_dots`: whether dots go from the end one by one;
- `symbols_at_end`: whether symbols go from the end; `not_symbols`: characters that do not count as symbols;
- `emoticons`: whether emoticons stay whole; `initials`: whether a small letter with a dot does;
- `exact_letters`: whether letters are those that spaCy knows instead of all.
"""

import re
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SCHEMES = Path(__file__).with_name("token_schemes.toml")
WORDS = Path(__file__).with_name("token_words.toml")

QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉⟦⟧"
PUNCTUATION = "…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪"
CURRENCY = "$£€¥฿₽﷼₴₠₡₢₣₤₥₦₧₨₩₪₫₭₮₯₰₱₲₳₵₶₷₸₹₺₻₼₾₿"
PREFIXES = frozenset(QUOTES + PUNCTUATION + CURRENCY + "§%=—–+")
SUFFIXES = frozenset(QUOTES + PUNCTUATION + "—–")
UNITS = (
    "km² km³ km m² m³ m dm² dm³ dm cm² cm³ cm mm² mm³ mm ha µm nm yd in ft kg g mg µg t lb oz m/s km/h kmh mph hPa Pa"
    " mbar mb MB kb KB gb GB tb TB T G M K"
)
_OTHER_UNITS = (
    "км² км³ км м² м³ м дм² дм³ дм см² см³ см мм² мм³ мм нм кг г мг м/с км/ч кПа Па мбар Кб КБ кб Мб МБ мб Гб ГБ гб Тб"
    " ТБ كم² كم³ كم م² م³ م سم² سم³ سم مم² مم³ مم غرام جرام جم كغ ملغ كوب اكواب"
)
_LIKE = {
    "bs": "sr",
    "nn": "nb",
    "ps": "ur",
    "sw": "africa",
    "zu": "africa",
    **dict.fromkeys(("bn", "gu", "hi", "kn", "ml", "mr", "ne", "pa", "si", "ta", "te"), "indic"),
}
"""Languages that have the scheme of another, as datatrove assigns its tokenizers."""
_CASED = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01bf\u01c4-\u02af\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a"
    "а-яА-ЯёЁәөүҗңһӘӨҮҖҢҺіїєґІЇЄҐѓѕјљњќѐѝЃЅЈЉЊЌЀЍα-ωΑ-ΩάέίόώήύΆΈΊΌΏΉΎ"
)
_UNCASED = (
    "\u1200-\u137f\u0980-\u09ff\u0591-\u05f4\ufb1d-\ufb4f\u0620-\u064a\u066e-\u06d5\u06e5-\u06ff\u0750-\u077f"
    "\u08a0-\u08bd\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdc7\ufdf0-\ufdfb\ufe70-\ufefc\u0d80-\u0dff\u0900-\u097f"
    "\u0c80-\u0cff\u0b80-\u0bff\u0c00-\u0c7f\uac00-\ud7af\u1100-\u11ff\u3040-\u30ff\u2e80-\u2fdf\u2ff0-\u303f"
    "\u31c0-\u31ef\u3200-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f\U00020000-\U0002ebef\U0002f800-\U0002fa1f"
)
"""Letters that spaCy knows (its documentation of character classes): those with capitals, and those of scripts
without. Armenian, Georgian, Thai and others are not among them, so nothing is split between their letters."""
_ASCII = re.escape(string.punctuation.replace("\\", ""))  # indic-nlp-library's class has no backslash
_INDIC = _ASCII + "\u0964\u0965\uaaf1\uaaf0\uabeb-\uabef\u1c7e\u1c7f"
_URDU = _ASCII + "\u0609\u060a\u060c\u061e\u066a-\u066d\u06d4"
_KNOWN = ("''", "C++", "\\n", "\\t", '\\")', "<space>")
_INITIALS = string.ascii_lowercase + "äöü"
SUFFIX_ENDS = "sS+%" + CURRENCY + "".join({unit[-1] for unit in (UNITS + " " + _OTHER_UNITS).split()})
SYMBOL = r"(?P<symbol>[^\w\s\x00-\u00a5…–—])"
_LABEL = r"[A-Za-z0-9\u00a1-\uffff]"
ADDRESS = (
    r"(?:[\w+.-]{2,}://)?(?:\S+@)?"
    rf"(?:(?:{_LABEL}(?:[A-Za-z0-9\u00a1-\uffff_-]{{0,62}}{_LABEL})?\.)+@TOP{{2,63}}"
    r"|(?!(?:10|127|169\.254|192\.168)\.)[1-9]\d{0,2}(?:\.\d{1,3}){3})"
    r"(?::\d{2,5})?(?:[/?#]\S*)?"
)
"""An address; `@TOP` stands for a character of the top-level domain."""
MAY_JOIN = r"[:;=<>^_\\@SIGNS]|''|['’]s|\.\Z|\.[A-Z0ov\"”]|8-?[)D]|--"
"""Runs that may have an abbreviation or an emoticon among their tokens; `@SIGNS` stands for more characters."""
_NUMBERS = "ª²³¹º¼-¾"
ELLIPSIS = r"\.\.+|…"
LONGEST_WHOLE = 64
"""Characters of a run that may match `whole`. Numbers and dates are shorter."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenScheme:
    """How the tokens of a language are split."""

    infix: re.Pattern[str]
    """Where a text is split. The match of a group named `symbol` counts if it is a symbol, that of a group `dot` if a
    small letter stands before and a capital behind it."""
    prefix_marks: frozenset[str] = PREFIXES
    suffix_marks: frozenset[str] = SUFFIXES
    prefix: re.Pattern[str] | None = None
    suffix: re.Pattern[str]
    suffix_ends: frozenset[str]
    """Last characters of all that `suffix` matches."""
    hyphen_suffixes: bool = False
    """Whether `suffix` also matches what ends otherwise and has a hyphen."""
    final_dot: re.Pattern[str] | None
    """What stands before a dot at the end that is a token; None for the rule of English."""
    plain_dot: bool = True
    """Whether a dot behind small letters is a token, unless they are known with it."""
    single_dots: bool = False
    symbols_at_end: bool = True
    not_symbols: str = ""
    whole: re.Pattern[str] | None = None
    whole_sign: str = ""
    """What every match of `whole` contains."""
    known: Mapping[str, tuple[str, ...]]
    """The tokens of each abbreviation and contraction."""
    contraction: re.Pattern[str] | None = None
    """Contractions of English; each group is a token."""
    longest_known: int
    address: re.Pattern[str]
    """What stays whole because it may be an address."""
    may_join: re.Pattern[str]
    """Runs that may have something known among the tokens of their other parts."""
    emoticons: bool = True
    marks: re.Pattern[str] | None = None
    """If set, a run is split at marks alone, and no other field counts."""


def scheme_of(language: str) -> TokenScheme:
    """Return the scheme of a language (ISO 639 code). Languages that share one get the same object, and a language
    without a scheme gets the common one.
    """
    name = _LIKE.get(language, language)
    return _scheme(name if name in _names() else "common")


@cache
def _names() -> frozenset[str]:
    return frozenset({"indic", "ur"}.union(*_tables()))


@cache
def _scheme(name: str) -> TokenScheme:
    if name == "ur":
        return _marks_scheme(_URDU, "")
    if name == "indic":
        return _marks_scheme(_INDIC, r"(?<=[0-9])[,.:/](?=[0-9])|")
    own, words = _tables()
    return _compiled(_keys(own, name), words.get(name, {}))


@cache
def _tables() -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, str]]]:
    return tomllib.loads(SCHEMES.read_text("utf-8")), tomllib.loads(WORDS.read_text("utf-8"))


def _keys(own: Mapping[str, dict[str, Any]], language: str) -> dict[str, Any]:
    keys = own.get(language, {})
    below = keys.get("like", "common")
    return {**(_keys(own, below) if language != "common" else {}), **keys}


def _compiled(keys: Mapping[str, Any], words: Mapping[str, str]) -> TokenScheme:
    fill = _Filler(exact=keys.get("exact_letters", False))
    infixes = [*keys["infixes"], *keys.get("infixes_added", ())]
    prefixes, whole = keys.get("prefixes"), keys.get("whole")
    known: dict[str, tuple[str, ...]] = {each: (each,) for each in words.get("whole", "").split()}
    if keys.get("emoticons", True):
        known |= {each: (each,) for each in _KNOWN}
    if keys.get("initials", True):
        known |= {f"{letter}.": (f"{letter}.",) for letter in _INITIALS}
    known |= {
        "".join(parts): parts for each in words.get("split", "").split() if (parts := tuple(each.split("|")))
    }
    ends = frozenset(SUFFIX_ENDS + keys.get("suffix_ends", ""))
    removed, added = keys.get("suffix_marks_removed", ""), keys.get("suffix_marks_added", "")
    final_dot = fill(f"(?:{keys['final_dot']})\\Z") if "final_dot" in keys else None
    return TokenScheme(
        infix=fill("|".join([ELLIPSIS, *infixes, SYMBOL])),
        prefix_marks=PREFIXES - frozenset(keys.get("prefix_marks_removed", "")),
        suffix_marks=(SUFFIXES - frozenset(removed)) | frozenset(added),
        prefix=fill("|".join(prefixes)) if prefixes else None,
        suffix=fill(f"(?:{'|'.join(keys['suffixes'])})\\Z"),
        suffix_ends=ends,
        hyphen_suffixes=keys.get("hyphen_suffixes", False),
        final_dot=final_dot,
        plain_dot=not keys.get("exact_letters") and (final_dot is None or final_dot.search("aa") is not None),
        single_dots=keys.get("single_dots", False),
        symbols_at_end=keys.get("symbols_at_end", True),
        not_symbols=keys.get("not_symbols", ""),
        whole=fill(f"(?:{'|'.join(whole)}){keys.get('whole_end', '')}") if whole else None,
        whole_sign=keys.get("whole_sign", ""),
        known=known,
        longest_known=max(map(len, known), default=0),
        address=fill(ADDRESS.replace("@TOP", "[{L}]")),
        may_join=fill(MAY_JOIN.replace("@SIGNS", "")),
        emoticons=keys.get("emoticons", True),
    )


class _Filler:
    """Compiles expressions whose classes of characters have names."""

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        ranges = re.finditer(r"(.)(?:-(.))?", _CASED)
        cased = [chr(at) for each in ranges for at in range(ord(each[1]), ord(each[2] or each[1]) + 1)]
        self._classes = {
            "A": _CASED + _UNCASED,
            "L": "".join(filter(str.islower, cased)) + _UNCASED,
            "U": "".join(filter(str.isupper, cased)) + _UNCASED,
            "Q": QUOTES,
            "q": QUOTES.replace("'", ""),
            "P": re.escape(PUNCTUATION + "|"),
            "D": "\u0300-\u036f",
            "H": "(?:-{1,3}|–|—{1,2}|~)",
            "C": f"(?:US\\$|[CA]\\$|[{CURRENCY}])",
            "N": f"(?:{'|'.join((UNITS + ' ' + _OTHER_UNITS).split())})",
        }

    def __call__(self, expression: str) -> re.Pattern[str]:
        """Return the expression, compiled."""
        if not self._exact:  # Python compiles and matches these classes far faster than lists of letters
            expression = expression.replace("[{A}]", rf"[^\W\d_{_NUMBERS}]")
            expression = expression.replace("[{A}0-9]", rf"[^\W_{_NUMBERS}]")
        return re.compile(re.sub(r"\{([A-Za-z])\}", lambda name: self._classes[name[1]], expression))


def _marks_scheme(marks: str, joined: str) -> TokenScheme:
    """Return a scheme that splits at marks alone, except where `joined` matches."""
    found = re.compile(f"(?:{joined}[^{marks}])+|[{marks}]")
    return TokenScheme(
        infix=found,
        suffix=found,
        suffix_ends=frozenset(),
        final_dot=None,
        known={},
        longest_known=0,
        address=found,
        may_join=found,
        marks=found,
    )
