"""Split a run of characters without white space into tokens, as spaCy's tokenizer of English does.

The thresholds of the published rules were found with the words of NLTK and spaCy, and datatrove counts spaCy's. Its
documented algorithm (spacy.io/usage/linguistic-features#how-tokenizer-works) is built here anew:

1. Punctuation, quotes, symbols and currency signs go from the start of a run, one by one; from its end go punctuation,
   quotes, symbols, `'s`, and units behind digits. A dot stays with an initial (`J.`) or an abbreviation (`U.S.`).
2. A known abbreviation (`Mr.`, `e.g.`) or emoticon stays whole. A contraction is split (`don't`: `do`, `n't`).
3. An address (`example.org/a-b?c`) stays whole, and so do dates, numbers and identifiers (`10/12/2020`, `foo_bar`).
4. Anything else is split at dashes between letters (`e-mail`: three tokens), at ellipses, at symbols, and at `,:/<=>`
   in front of a letter.

Time is linear in the length of the run.
"""

import re
from collections.abc import Iterator

from filters.characters import is_symbol

TOKENS_VERSION = "tokens@1"
"""Name of these rules. It belongs in every recipe that counts tokens."""
MAX_RUN = 20_000
"""Characters of a run that is split. A longer one is data, and one token."""
MAX_JOINED = 256
"""Tokens of a run among which abbreviations and emoticons are looked for. Longer runs are data."""
MAX_ADDRESS = 1024
"""Characters of a run that may be an address. Longer runs are data."""

_QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉⟦⟧"
_PUNCTUATION = "…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪"
_CURRENCY = "$£€¥฿₽﷼₴₠₡₢₣₤₥₦₧₨₩₪₫₭₮₯₰₱₲₳₵₶₷₸₹₺₻₼₾₿"
_PREFIXES = frozenset(_QUOTES + _PUNCTUATION + _CURRENCY + "§%=—–")
_SUFFIXES = frozenset(_QUOTES + _PUNCTUATION + "—–")
_UNITS = (
    "km² km³ km m² m³ m dm² dm³ dm cm² cm³ cm mm² mm³ mm ha µm nm yd in ft kg g mg µg t lb oz m/s km/h kmh mph hPa Pa"
    " mbar mb MB kb KB gb GB tb TB T G M K %"
)
_UNIT = re.compile(rf"(?<=[0-9])(?:{'|'.join(_UNITS.split())})\Z")
_LONGEST_UNIT = 4
_CURRENCY_CODE = re.compile(r"(?:US|C|A)\$")
_BEFORE_DOT = frozenset("%²-+" + _PUNCTUATION + _QUOTES)

_LETTER = r"[^\W\d_]"
_INFIX = re.compile(
    r"\.\.+|…"
    r"|(?<=[0-9])[+\-*^](?=[0-9-])"
    rf"|(?:(?<={_LETTER})|(?<=[{_QUOTES}]))\.(?={_LETTER}|[{_QUOTES}])"
    rf"|(?<={_LETTER}),(?={_LETTER})"
    rf"|(?<=[^\W_])(?:-{{1,3}}|–|—{{1,2}}|~)(?={_LETTER})"
    rf"|(?<=[^\W_])[:<>=/](?={_LETTER})"
    r"|[^\w\s\x00-\u00a5…–—]"
)
_LABEL = r"[A-Za-z0-9\u00a1-\uffff]"
_ADDRESS = re.compile(
    r"(?:[\w+.-]{2,}://)?(?:\S+@)?"
    rf"(?:(?:{_LABEL}(?:[A-Za-z0-9\u00a1-\uffff_-]{{0,62}}{_LABEL})?\.)+[^\W\d_A-Z]{{2,63}}"
    r"|(?!(?:10|127|169\.254|192\.168)\.)[1-9]\d{0,2}(?:\.\d{1,3}){3})"
    r"(?::\d{2,5})?(?:[/?#]\S*)?"
)

_WHO, _THIS = "[Ww]ho|[Ww]hat|[Ww]hen|[Ww]here|[Ww]hy|[Hh]ow|[Tt]here", "[Tt]hat|[Tt]his"
_THESE, _WE = "[Tt]hese|[Tt]hose", "[Yy]ou|[Ww]e|[Tt]hey"
_HE = "[Hh]e|[Ss]he|[Ii]t"
_CONTRACTION = re.compile(
    r"([Ii])(['’]?m)(a)?"
    rf"|([Ii]|{_HE}|{_WE}|{_WHO}|{_THIS}|{_THESE})(['’]?(?:ll|d))(['’]?ve)?"
    rf"|([Ii]|{_WE}|{_WHO}|{_THESE})(['’]?ve)"
    rf"|({_WE}|{_WHO}|{_THESE})(['’]?re)"
    rf"|({_HE}|{_WHO}|{_THIS})(['’]?s)"
    r"|([Cc]a|[Cc]ould|[Dd]o|[Dd]oes|[Dd]id|[Hh]ad|[Mm]ay|[Mm]ight|[Mm]ust|[Nn]eed|[Oo]ught|[Ss]ha|[Ss]hould|[Ww]o"
    r"|[Ww]ould)(n['’]?t)(['’]?ve)?"
    r"|([Aa]i|[Aa]re|[Ii]s|[Ww]as|[Ww]ere|[Hh]ave|[Hh]as|[Dd]are)(n['’]?t)"
    r"|([Cc]ould|[Mm]ight|[Mm]ust|[Ss]hould|[Ww]ould|[Nn]ot)(['’]?ve)"
    r"|([Cc]an)(not)|([Gg]on)(na)|([Gg]ot)(ta)|([Ll]et)(['’]s)|([Cc]['’]m)(on)|(y['’]?)(all)"
    r"|([Hh]ow)(['’]d)(['’]y)|(1[0-2]|[1-9])([ap]m|[ap]\.m\.)"
)
_NO_CONTRACTION_LIST = "ill its hell shell shed were well whore"
_NO_CONTRACTIONS = frozenset(f"{_NO_CONTRACTION_LIST} {_NO_CONTRACTION_LIST.title()}".split())
_ABBREVIATION_LIST = (
    "'S 's ‘S ‘s 're ’re 'd ’d 'll ’ll 'em ’em and/or w/o ma'am Ma'am ma’am Ma’am o'clock O'clock o’clock O’clock C++"
    " 'Cause 'cause 'Cos 'cos 'Coz 'coz 'Cuz 'cuz 'bout 'nuff ’Cause ’cause ’Cos ’cos ’Coz ’coz ’Cuz ’cuz ’bout ’nuff"
    " lovin' havin' doin' goin' nothin' nuthin' ol' somethin' lovin’ havin’ doin’ goin’ nothin’ nuthin’ ol’ somethin’"
    " Lovin' Havin' Doin' Goin' Nothin' Nuthin' Ol' Somethin' Lovin’ Havin’ Doin’ Goin’ Nothin’ Nuthin’ Ol’ Somethin’"
    " Mt. Ak. Ala. Apr. Ariz. Ark. Aug. Calif. Colo. Conn. Dec. Del. Feb. Fla. Ga. Ia. Id. Ill. Ind. Jan. Jul. Jun."
    " Kan. Kans. Ky. La. Mar. Mass. Mich. Minn. Miss. N.C. N.D. N.H. N.J. N.M. N.Y. Neb. Nebr. Nev. Nov. Oct. Okla."
    " Ore. Pa. S.C. Sep. Sept. Tenn. Va. Wash. Wis. a.m. Adm. Bros. co. Co. Corp. D.C. Dr. e.g. E.g. E.G. Gen. Gov."
    " i.e. I.e. I.E. Inc. Jr. Ltd. Md. Messrs. Mo. Mont. Mr. Mrs. Ms. p.m. Ph.D. Prof. Rep. Rev. Sen. St. vs. v.s."
    " ä. ö. ü. '' ’’ \\n \\t \\\") <space>"
)
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())
_EMOTICON = re.compile(
    r":-?(?:[DPOXopx/|*>}\]013]|\){1,3}|\({1,3})|:\(\)|:o\)|;-?[)D]|=[()/3D[\]|]|8-?[)D]|\(-?[:;8]|\(=|\(o:|\)-?:"
    r"|\[-?:|\[=|\]=|x?X?DD?|:['’]-?[()]|<3{1,3}|</3|>:[(o]|>\.[<>]|<\.<|\^_{1,3}\^|-_{1,2}-|[0OoVv][._][0OoVv]|@_@|;_;"
    r"|\._\.|[a-z]\."
)
_MAY_JOIN = re.compile(r"[:;=<>^_'’\\]|\.\Z|\.[A-Z0ov\"”]|8-?[)D]|--")
"""Runs that may have an abbreviation or an emoticon among their tokens."""
_CONTRACTED = ("ll", "d", "ve", "m", "ma", "s", "re", "nt", "not", "na", "ta", "all")
"""Ends of all contractions without an apostrophe."""
_LONGEST_KNOWN = 12
"""Longest abbreviation, contraction or emoticon."""
_LONGEST_EMOTICON = 5


def split_run(run: str, *, english: bool) -> list[str]:  # noqa: C901, PLR0912 - one loop with the order of the algorithm
    """Return the tokens of a run of characters without white space.

    If `english` is set, contractions and abbreviations of English are known.
    """
    if len(run) > MAX_RUN:
        return [run]
    if run.isalpha():
        return _word_tokens(run) if english else [run]
    if run[-1] in ",;!?." and (word := run[:-1]).isalpha():  # most runs with a mark are a word and that mark
        parts = _word_tokens(word) if english else [word]
        if run[-1] != "." or (
            len(parts) == 1 and len(word) > 1 and word.islower() and run not in _ABBREVIATIONS
        ):
            return [*parts, run[-1]]
    low, high = 0, len(run)
    suffixes: list[str] = []
    tokens: list[str] = []
    middle: list[str] | None = None
    while low < high:
        middle = _known(run[low:high]) if english and high - low <= _LONGEST_KNOWN else None
        if middle is not None:
            break
        first = _prefix(run, low, high)
        if first and english and (middle := _known_at(run, low + first, high)) is not None:
            tokens.append(run[low : low + first])
            low += first
            break
        last = _suffix(run, low + first, high)
        if last and english and (middle := _known_at(run, low, high - last)) is not None:
            suffixes.append(run[high - last : high])
            high -= last
            break
        if first:
            tokens.append(run[low : low + first])
            low += first
        if last:
            suffixes.append(run[high - last : high])
            high -= last
        if not first and not last:
            break
    if middle is not None:
        tokens += middle
    elif low < high:
        tokens += _inner(run[low:high])
    suffixes.reverse()
    tokens += suffixes
    if english and 1 < len(tokens) <= MAX_JOINED and _MAY_JOIN.search(run):
        return list(_joined(tokens))
    return tokens


def _word_tokens(word: str) -> list[str]:
    """Return the tokens of a word of letters alone."""
    if len(word) > _LONGEST_KNOWN or not word.endswith(_CONTRACTED):
        return [word]
    return _known(word) or [word]


def _joined(tokens: list[str]) -> Iterator[str]:
    """Yield the tokens; those next to each other that make an abbreviation or an emoticon are one token."""
    at = 0
    while at < len(tokens):
        for count in (4, 3, 2):
            if at + count > len(tokens):
                continue
            text = "".join(tokens[at : at + count])
            if len(text) <= _LONGEST_KNOWN and (text in _ABBREVIATIONS or _is_emoticon(text)):
                break
        else:
            count, text = 1, tokens[at]
        yield text
        at += count


def _known_at(run: str, low: int, high: int) -> list[str] | None:
    return _known(run[low:high]) if 0 < high - low <= _LONGEST_KNOWN else None


def _known(text: str) -> list[str] | None:
    """Return the tokens of an abbreviation, emoticon or contraction; None if the text is none."""
    if len(text) > _LONGEST_KNOWN or text in _NO_CONTRACTIONS:
        return None
    if (found := _CONTRACTION.fullmatch(text)) is not None:
        return [part for part in found.groups() if part]
    return [text] if text in _ABBREVIATIONS or _is_emoticon(text) else None


def _is_emoticon(text: str) -> bool:
    return len(text) <= _LONGEST_EMOTICON and _EMOTICON.fullmatch(text) is not None


def _prefix(run: str, low: int, high: int) -> int:
    """Return the number of characters that go from the start."""
    first = run[low]
    if first in _PREFIXES:
        return 2 if first == "…" and run.startswith("……", low, high) else 1
    if first == ".":
        end = low + 1
        while end < high and run[end] == ".":
            end += 1
        return end - low if end - low > 1 else 0
    if first == "+":
        return int(low + 1 == high or not run[low + 1].isdigit())
    if first.isascii():
        code = _CURRENCY_CODE.match(run, low, high) if first in "UCA" else None
        return len(code[0]) if code else 0
    return int(is_symbol(first))


def _suffix(run: str, low: int, high: int) -> int:  # noqa: PLR0911 - one kind of suffix a line
    """Return the number of characters that go from the end."""
    if low >= high:
        return 0
    last, before = run[high - 1], run[high - 2] if high - low > 1 else ""
    if last in "sS" and before and before in "'’":
        return 2
    if last in _SUFFIXES:
        return 2 if last == before == "…" else 1
    if last == ".":
        return _final_dots(run, low, high)
    if before.isdigit() and (last == "+" or last in _CURRENCY):
        return 1
    if last.isascii() or last in "²³":
        unit = _UNIT.search(run[max(low, high - _LONGEST_UNIT - 1) : high])
        return len(unit[0]) if unit else 0
    return int(is_symbol(last))


def _final_dots(run: str, low: int, high: int) -> int:
    if high - low == 1:
        return 0
    before = run[high - 2]
    if before == ".":
        start = high - 1
        while start > low and run[start - 1] == ".":
            start -= 1
        return high - start
    if before in _BEFORE_DOT or before.isdigit() or _is_lower(before):
        return 1
    two_capitals = high - low > 2 and _is_upper(before) and _is_upper(run[high - 3])
    return int(two_capitals or (high - low > 2 and before in "CFKcfk" and run[high - 3] == "°"))


def _is_lower(character: str) -> bool:
    """Return whether a character is a small letter, or a letter of a script without capitals."""
    return character.isalpha() and not character.isupper()


def _is_upper(character: str) -> bool:
    return character.isalpha() and not character.islower()


def _inner(text: str) -> list[str]:
    """Split what is left between prefixes and suffixes."""
    if text.isalnum() or (len(text) <= MAX_ADDRESS and "." in text and _ADDRESS.fullmatch(text)):
        return [text]
    return [part for part in _split_infixes(text) if part]


def _split_infixes(text: str) -> Iterator[str]:
    done = 0
    for found in _INFIX.finditer(text):
        start, end = found.span()
        if start == 0:
            continue
        mark = found[0]
        if mark == "." and not (
            (_is_lower(text[start - 1]) or text[start - 1] in _QUOTES)
            and (_is_upper(text[end]) or text[end] in _QUOTES)
        ):
            continue
        if end - start == 1 and not mark.isascii() and mark not in "…–—" and not is_symbol(mark):
            continue
        yield text[done:start]
        yield mark
        done = end
    yield text[done:]
