"""`Lexicon`: what rules count of each run of characters without white space, computed once a run and not once a text.

Texts repeat their words. A lexicon numbers the runs that it has seen, and holds a row of integers for each: how many
tokens and words it has, how many letters, how it moves the count of sentences. What is counted of a text is then a sum
over the rows of its runs. The numbers of runs and tokens mean nothing outside a lexicon, and no count depends on them.
"""

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thresher.core.unicode14 import original
from thresher.filters.characters import SENTENCE_TERMINALS, has_letter, is_punctuation, is_word
from thresher.filters.tokens.english_tokens import ENGLISH
from thresher.filters.tokens.token_scheme import TokenScheme
from thresher.filters.word_tokens import split_run
from thresher.filters.words import is_unspaced

IntArray = npt.NDArray[np.int64]
MAX_RUNS = 400_000
MAX_CHARACTERS = 16_000_000
"""A lexicon that has more runs or characters is not used for another text; then it takes some 100 MB. The lexicons of
all languages other than English share these limits."""
COLUMNS = ("first", "tokens", "words", "characters", "letters", "unspaced", "sentences", "opens", "leaves")
"""Columns of a row:

- `first`: place of the first token of the run in the list of all tokens, and `tokens`: their number;
- `words`: tokens that are words, and `characters`: characters in them;
- `letters`: tokens with a letter;
- `unspaced`: words of scripts without spaces;
- `sentences`: sentences that begin in the run behind a mark that ends one;
- `opens`: 1 if one more begins if a sentence ended before the run;
- `leaves`: 1 if no sentence has ended behind the run, 2 if one has, and 0 if that is as it was before the run.
"""
_PUNCTUATION, _OTHER, _TERMINAL = range(3)
"""Kinds of tokens, for the count of sentences."""
FIRST, TOKENS, WORDS, CHARACTERS, LETTERS, UNSPACED, SENTENCES, OPENS, LEAVES = range(len(COLUMNS))


class Lexicon(dict[str, int]):
    """Numbers of the runs seen so far. Looking up a run that is not known adds it."""

    def __init__(self, scheme: TokenScheme) -> None:
        """Runs are split as `scheme` says."""
        super().__init__()
        self._scheme = scheme
        self.characters = 0
        self._tokens: dict[str, int] = {}
        self._waiting: list[tuple[int, ...]] = []
        self._waiting_tokens: list[int] = []
        self._token_count = 0
        self._rows = np.zeros((1024, len(COLUMNS)), dtype=np.int64)
        self._run_tokens = np.zeros(1024, dtype=np.int64)
        self._texts: list[str] = []
        self._token_facts: list[tuple[int, int, int, int]] = []
        self._lengths = np.zeros(1024, dtype=np.int64)
        self._known_lengths = 0

    def __missing__(self, run: str) -> int:
        """Add a run, and return its number."""
        number = self[run] = len(self)
        self.characters += len(run)
        tokens = split_run(run, self._scheme)
        words = characters = letters = sentences = opens = leaves = 0
        for token in tokens:
            at = self._tokens.get(token)
            if at is None:
                at = self._add_token(token)
            self._waiting_tokens.append(at)
            length, is_word_, has_letter_, kind = self._token_facts[at]
            words += is_word_
            characters += length * is_word_
            letters += has_letter_
            # As in spaCy's sentencizer, a sentence begins with the first token behind a mark that is no punctuation.
            if kind == _TERMINAL:
                leaves = 2
            elif kind == _OTHER:
                sentences += leaves == 2
                opens += not leaves
                leaves = 1
        unspaced = 0 if run.isascii() else int(is_unspaced(run))
        row = (self._token_count, len(tokens), words, characters, letters, unspaced, sentences, opens, leaves)
        self._waiting.append(row)
        self._token_count += len(tokens)
        return number

    def numbers(self, runs: Sequence[str]) -> IntArray:
        """Return the numbers of runs, in order."""
        found = np.fromiter(map(self.__getitem__, runs), dtype=np.int64, count=len(runs))
        if self._waiting:
            self._rows = _appended(self._rows, len(self) - len(self._waiting), np.array(self._waiting))
            old = self._token_count - len(self._waiting_tokens)
            self._run_tokens = _appended(self._run_tokens, old, np.array(self._waiting_tokens))
            self._waiting, self._waiting_tokens = [], []
        return found

    def rows(self, numbers: IntArray) -> IntArray:
        """Return the row of each run. The columns are `COLUMNS`."""
        return self._rows.take(numbers, axis=0)

    def tokens(self, rows: IntArray) -> IntArray:
        """Return the number of each token of runs that have these rows, in order."""
        counts = rows[:, TOKENS]
        ends = counts.cumsum()
        total = int(ends[-1]) if len(ends) else 0
        if total == len(counts):
            return self._run_tokens[rows[:, FIRST]]
        return self._run_tokens[np.repeat(rows[:, FIRST] - ends + counts, counts) + np.arange(total)]

    def lengths(self, tokens: IntArray) -> IntArray:
        """Return the number of characters of each token, given the numbers of the tokens."""
        if self._known_lengths < len(self._texts):
            more = np.array(list(map(len, self._texts[self._known_lengths :])), dtype=np.int64)
            self._lengths = _appended(self._lengths, self._known_lengths, more)
            self._known_lengths = len(self._texts)
        return self._lengths[tokens]

    def token_number(self, token: str) -> int:
        """Return the number of a token; -1 if no run has had it."""
        return self._tokens.get(token, -1)

    def token_texts(self, tokens: IntArray) -> list[str]:
        """Return the texts of tokens, given their numbers, as they were before `core.unicode14.known`."""
        return [original(self._texts[number]) for number in tokens.tolist()]

    def _add_token(self, text: str) -> int:
        number = self._tokens[text] = len(self._texts)
        self._texts.append(text)
        if text.isalpha():
            facts = (len(text), 1, 1, _OTHER)
        else:
            kind = (
                _TERMINAL if text in SENTENCE_TERMINALS else _PUNCTUATION if is_punctuation(text) else _OTHER
            )
            facts = (len(text), int(is_word(text)), int(has_letter(text)), kind)
        self._token_facts.append(facts)
        return number


class _Current(threading.local):
    """The lexicons of a thread by scheme: that of English, and all others."""

    def __init__(self) -> None:
        self.english: dict[TokenScheme, Lexicon] = {}
        self.others: dict[TokenScheme, Lexicon] = {}


_CURRENT = _Current()


def current_lexicon(scheme: TokenScheme) -> Lexicon:
    """Return the lexicon of this thread for a scheme; a new one if the lexicons that share its limits are full."""
    lexicons = _CURRENT.english if scheme is ENGLISH else _CURRENT.others
    runs, characters = sum(map(len, lexicons.values())), sum(each.characters for each in lexicons.values())
    if runs > MAX_RUNS or characters > MAX_CHARACTERS:
        lexicons.clear()
    found = lexicons.get(scheme)
    if found is None:
        found = lexicons[scheme] = Lexicon(scheme)
    return found


def sentence_starts(rows: IntArray, is_first: npt.NDArray[np.bool_], *, has_ended: bool) -> tuple[int, bool]:
    """Return how many sentences begin in a piece of a text behind a mark that ends one, and whether one has ended at
    the end of the piece.

    `rows` are those of its runs, `is_first` says which of them are the first of a line, and `has_ended` whether a
    sentence has ended before the piece.
    """
    if not len(rows):
        return 0, has_ended
    leaves = rows[:, LEAVES]
    places = np.arange(len(rows))
    # The last place up to each run that says whether a sentence has ended; the start of a line says that none has.
    last = np.maximum.accumulate(np.where((leaves > 0) | is_first, places, -1))
    state = np.append(leaves > 1, has_ended)[last]  # the entry at -1 is the state before the piece
    before = np.append(has_ended, state[:-1]) & ~is_first
    return int(rows[:, SENTENCES].sum() + rows[before, OPENS].sum()), bool(state[-1])


def _appended(array: IntArray, count: int, more: IntArray) -> IntArray:
    """Return an array with `more` behind its first `count` rows; its room doubles if needed."""
    if count + len(more) > len(array):
        room = np.zeros((2 * (count + len(more)), *array.shape[1:]), dtype=np.int64)
        room[:count] = array[:count]
        array = room
    array[count : count + len(more)] = more
    return array
