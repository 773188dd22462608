"""Split a run of characters without white space into tokens, as the tokenizer of its language in datatrove does.

The thresholds of the published rules were found with the words of NLTK and spaCy, and datatrove counts spaCy's.
FineWeb-2 has a tokenizer for each language, most of them spaCy's. spaCy's documented algorithm
(spacy.io/usage/linguistic-features#how-tokenizer-works) is built here anew:

1. Punctuation, quotes, symbols and currency signs go from the start of a run, one by one; from its end go punctuation,
   quotes, symbols, `'s`, and units behind digits. A dot stays with an initial (`J.`) or an abbreviation (`U.S.`).
2. A known abbreviation (`Mr.`, `z.B.`) or emoticon stays whole. A contraction is split (`don't`: `do`, `n't`).
3. An address (`example.org/a-b?c`) stays whole, and so do dates, numbers and identifiers (`10/12/2020`, `foo_bar`).
4. Anything else is split at dashes between letters (`e-mail`: three tokens), at ellipses, at symbols, and at `,:/<=>`
   in front of a letter.

A `TokenScheme` says what differs by language: French splits `l'eau` behind the apostrophe, German keeps `E-Mail`
whole. Languages of India have indic-nlp-library's tokens: each mark is one, except in numbers. Languages with no scheme
of their own have the common one. In scripts without spaces each character is a token (`filters.words`).

Time is linear in the length of the run.
"""

import re
from collections.abc import Iterator, Sequence

from thresher.filters.characters import is_symbol
from thresher.filters.tokens.token_scheme import LONGEST_WHOLE, PUNCTUATION, QUOTES, TokenScheme

TOKENS_VERSION = "tokens@2"
"""Name of these rules. It belongs in every recipe that counts tokens."""
MAX_RUN = 20_000
"""Characters of a run that is split. A longer one is data, and one token."""
MAX_JOINED = 256
"""Tokens of a run among which abbreviations and emoticons are looked for. Longer runs are data."""
MAX_ADDRESS = 1024
"""Characters of a run that may be an address. Longer runs are data."""

_BEFORE_DOT = frozenset("%²-+" + PUNCTUATION + QUOTES)
_CURRENCY_CODE = re.compile(r"(?:US|C|A)\$")
MAX_AFFIX = 64
"""Characters at the start or the end of a run among which a prefix or suffix of several characters is looked for."""

_EMOTICON = re.compile(
    r":-?(?:[DPOXopx/|*>}\]013]|\){1,3}|\({1,3})|:\(\)|:o\)|;-?[)D]|=[()/3D[\]|]|8-?[)D]|\(-?[:;]|\(-8|\(=|\(o:|\)-?:"
    r"|\[-?:|\[=|\]=|x?X?DD?|:['’]-?[()]|<3{1,3}|</3|>:[(o]|>\.[<>]|<\.<|\^_{1,3}\^|-_{1,2}-|[0OoVv][._][0OoVv]|@_@|;_;"
    r"|\._\."
)
_CONTRACTED = ("ll", "d", "ve", "m", "ma", "s", "re", "nt", "not", "na", "ta", "all")
"""Ends of all contractions without an apostrophe."""
_LONGEST_EMOTICON = 5


def split_run(run: str, scheme: TokenScheme) -> list[str]:  # noqa: C901, PLR0912 - one loop with the order of the algorithm
    """Return the tokens of a run of characters without white space, as a scheme splits them."""
    if len(run) > MAX_RUN:
        return [run]
    if run.isalpha():
        return _word_tokens(run, scheme)
    if scheme.marks is not None:
        return scheme.marks.findall(run)
    last = run[-1]
    if last in ",;!?." and (word := run[:-1]).isalpha():  # most runs with a mark are a word and that mark
        parts = _word_tokens(word, scheme)
        if last != "." or (
            scheme.plain_dot
            and len(parts) == 1
            and len(word) > 1
            and word.islower()
            and run not in scheme.known
        ):
            parts.append(last)
            return parts
    low, high = 0, len(run)
    suffixes: list[str] = []
    tokens: list[str] = []
    middle: Sequence[str] | None = None
    may_be_whole = scheme.whole is not None and scheme.whole_sign in run
    while low < high:
        middle = _known(run[low:high], scheme) if high - low <= scheme.longest_known else None
        if middle is None and may_be_whole and _is_whole(run, low, high, scheme):
            middle = (run[low:high],)
        if middle is not None:
            break
        first = _prefix(run, low, high, scheme)
        if first and (middle := _known_at(run, low + first, high, scheme)) is not None:
            tokens.append(run[low : low + first])
            low += first
            break
        end = high - _suffix(run, low + first, high, scheme)
        if end < high and (middle := _known_at(run, low, end, scheme)) is not None:
            suffixes.append(run[end:high])
            high = end
            break
        if first:
            tokens.append(run[low : low + first])
            low += first
        elif end == high:
            break
        if end < high:
            suffixes.append(run[end:high])
            high = end
    if middle is not None:
        tokens += middle
    elif low < high:
        tokens += _inner(run[low:high], scheme)
    suffixes.reverse()
    tokens += suffixes
    if 1 < len(tokens) <= MAX_JOINED and scheme.may_join.search(run):
        return list(_joined(tokens, scheme))
    return tokens


def _word_tokens(word: str, scheme: TokenScheme) -> list[str]:
    """Return the tokens of a word of letters alone."""
    if scheme.contraction is None:
        parts: Sequence[str] | None = scheme.known.get(word)
    elif len(word) > scheme.longest_known or not word.endswith(_CONTRACTED):
        return [word]
    else:
        parts = _known(word, scheme)
    return [word] if parts is None else list(parts)


def _joined(tokens: list[str], scheme: TokenScheme) -> Iterator[str]:
    """Yield the tokens; those next to each other that make something known have the tokens of that instead."""
    at = 0
    while at < len(tokens):
        parts: Sequence[str] | None = None
        for count in (4, 3, 2):
            if at + count <= len(tokens):
                text = "".join(tokens[at : at + count])
                parts = scheme.known.get(text) or (
                    (text,) if scheme.emoticons and _is_emoticon(text) else None
                )
                if parts is not None:
                    break
        else:
            count = 1
        yield from parts or (tokens[at],)
        at += count


def _known_at(run: str, low: int, high: int, scheme: TokenScheme) -> Sequence[str] | None:
    return _known(run[low:high], scheme) if 0 < high - low <= scheme.longest_known else None


def _known(text: str, scheme: TokenScheme) -> Sequence[str] | None:
    """Return the tokens of an abbreviation, emoticon or contraction; None if the text is none."""
    if (parts := scheme.known.get(text)) is not None:
        return parts
    if scheme.contraction is not None and (found := scheme.contraction.fullmatch(text)) is not None:
        return [part for part in found.groups() if part]
    return (text,) if scheme.emoticons and _is_emoticon(text) else None


def _is_emoticon(text: str) -> bool:
    return len(text) <= _LONGEST_EMOTICON and _EMOTICON.fullmatch(text) is not None


def _is_whole(run: str, low: int, high: int, scheme: TokenScheme) -> bool:
    """Return whether a part stays whole because of its form."""
    whole = scheme.whole
    return whole is not None and high - low <= LONGEST_WHOLE and whole.fullmatch(run, low, high) is not None


def _prefix(run: str, low: int, high: int, scheme: TokenScheme) -> int:
    """Return the number of characters that go from the start."""
    if (
        scheme.prefix is not None
        and (found := scheme.prefix.match(run, low, min(high, low + MAX_AFFIX))) is not None
    ):
        return found.end() - low
    first = run[low]
    if first in scheme.prefix_marks:
        if first == "+":
            return int(low + 1 == high or not run[low + 1].isdigit())
        return 2 if first == "…" and run.startswith("……", low, high) else 1
    if first == ".":
        end = low + 1
        while end < high and run[end] == ".":
            end += 1
        return end - low if end - low > 1 else 0
    if first.isascii():
        code = _CURRENCY_CODE.match(run, low, high) if first in "UCA" else None
        return len(code[0]) if code else 0
    return int(is_symbol(first))


def _suffix(run: str, low: int, high: int, scheme: TokenScheme) -> int:
    """Return the number of characters that go from the end."""
    if low >= high:
        return 0
    last = run[high - 1]
    if last in scheme.suffix_ends or (
        scheme.hyphen_suffixes and run.find("-", max(low, high - MAX_AFFIX), high) >= 0
    ):
        found = scheme.suffix.search(run[max(low, high - MAX_AFFIX) : high])
        if found is not None:
            return len(found[0])
    if last in scheme.suffix_marks:
        return 2 if last == "…" and high - low > 1 and run[high - 2] == "…" else 1
    if last == ".":
        return _final_dots(run, low, high, scheme)
    if last.isascii():
        return 0
    return int(scheme.symbols_at_end and last not in scheme.not_symbols and is_symbol(last))


def _final_dots(run: str, low: int, high: int, scheme: TokenScheme) -> int:
    if high - low == 1:
        return 0
    before = run[high - 2]
    if before == "." and not scheme.single_dots:
        start = high - 1
        while start > low and run[start - 1] == ".":
            start -= 1
        return high - start
    if scheme.final_dot is not None:
        return int(scheme.final_dot.search(run[max(low, high - 3) : high - 1]) is not None)
    if before in _BEFORE_DOT or before.isdigit() or _is_lower(before):
        return 1
    two_capitals = high - low > 2 and _is_upper(before) and _is_upper(run[high - 3])
    return int(two_capitals or (high - low > 2 and before in "CFKcfk" and run[high - 3] == "°"))


def _is_lower(character: str) -> bool:
    """Return whether a character is a small letter, or a letter of a script without capitals."""
    return character.isalpha() and not character.isupper()


def _is_upper(character: str) -> bool:
    return character.isalpha() and not character.islower()


def _inner(text: str, scheme: TokenScheme) -> list[str]:
    """Split what is left between prefixes and suffixes."""
    if text.isalnum() or (len(text) <= MAX_ADDRESS and "." in text and scheme.address.fullmatch(text)):
        return [text]
    return [part for part in _split_infixes(text, scheme) if part]


def _split_infixes(text: str, scheme: TokenScheme) -> Iterator[str]:
    done = 0
    for found in scheme.infix.finditer(text):
        start, end = found.span()
        if start == 0:
            continue
        kind, mark = found.lastgroup, found[0]
        if kind == "dot":
            before, behind = text[start - 1], text[end]
            if (before.isalnum() and not _is_lower(before)) or (behind.isalnum() and not _is_upper(behind)):
                continue
        if kind == "symbol" and (mark in scheme.not_symbols or not is_symbol(mark)):
            continue
        yield text[done:start]
        yield mark
        done = end
    yield text[done:]
