"""Strings that make a regular expression look back as far as it can, made from the expression itself.

Python's engine backtracks. A repetition within a repetition may take exponential time; two that take the same characters take quadratic time, and
so does a search that begins anew at each place and fails far behind it. From the parse tree of an expression come strings that do each of that,
if it can be done: what leads to a repetition, then what is repeated many times, alone and together, then what does not match.
"""

import re
import re._compiler as compiler  # type: ignore[import-not-found]
import re._constants as kind  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ALPHABET = [*" \t\n\r\0a0A-<>=\"'/&;:.,_()[]{}|!?*#%@+\\\x7f\xa0\xe9", "\u2010", "\u4e00"]
"""One of each sort of characters that expressions tell apart."""
PUMPS = 5
"""Characters tried of each set."""
MANY = 1_000
"""Repetitions that count as without bound: a lower bound costs a constant."""
REPEATS = {kind.MAX_REPEAT, kind.MIN_REPEAT, kind.POSSESSIVE_REPEAT}
ONE = {kind.LITERAL, kind.NOT_LITERAL, kind.ANY, kind.IN}
"""Nodes that take a single character."""
ENDS = ("", "\0", "\n")


class TooLongError(Exception):
    """It took more CPU time than it may."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` when this process has used so much CPU time; the engine looks for signals while it matches."""

    def over(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass(frozen=True, slots=True)
class Attack:
    """`lead`, then `pump` as often as one likes, then `end`."""

    lead: str
    pump: str
    end: str

    def of(self, length: int) -> str:
        return self.lead + self.pump * (length // len(self.pump)) + self.end


class Samples:
    """What the nodes of an expression take."""

    def __init__(self, pattern: re.Pattern) -> None:
        self._flags = pattern.flags
        self._is_text = isinstance(pattern.pattern, str)
        self.tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        own = [chr(each[1]) for each in nodes(self.tree) if each[0] in (kind.LITERAL, kind.NOT_LITERAL)]
        for each in nodes(self.tree):
            if each[0] is kind.IN:
                own += [chr(said) for what, said in each[1] if what is kind.LITERAL]
                own += [chr(said[0]) for what, said in each[1] if what is kind.RANGE]
        found = dict.fromkeys([*own, *ALPHABET])
        self._alphabet = [each for each in found if self._is_text or ord(each) < 256]

    def characters(self, node: tuple) -> list[str]:
        """Those of the alphabet that a node for one character takes."""
        single = compiler.compile(parser.SubPattern(self.tree.state, [node]), self._flags)
        as_subject = str if self._is_text else _bytes
        return [each for each in self._alphabet if single.fullmatch(as_subject(each))]

    def shortest(self, tree: parser.SubPattern) -> str:
        """Something that a tree takes, assertions left aside."""
        return "".join(self._shortest(node) for node in tree)

    def _shortest(self, node: tuple) -> str:
        operation, said = node
        if operation in ONE:
            return next(iter(self.characters(node)), "")
        if operation in REPEATS:
            return self.shortest(said[2]) * min(said[0], MANY)
        if operation is kind.SUBPATTERN:
            return self.shortest(said[3])
        if operation is kind.ATOMIC_GROUP:
            return self.shortest(said)
        if operation is kind.BRANCH:
            return self.shortest(said[1][0])
        return ""

    def pumps(self, tree: parser.SubPattern) -> list[str]:
        """Things that a repeated tree takes, not empty."""
        singles = [node for node in nodes(tree) if node[0] in ONE]
        made = [each for node in singles for each in self.characters(node)[:PUMPS]] if len(tree) == 1 else []
        for node in nodes(tree):
            if node[0] is kind.BRANCH:
                made += [self.shortest(branch) for branch in node[1][1]]
            elif node[0] in REPEATS:
                made += [self.shortest(node[1][2])]
        made += [self.shortest(tree), self._full(tree)]
        return [each for each in dict.fromkeys(made) if each]

    def _full(self, tree: parser.SubPattern) -> str:
        """As the shortest, with everything that may be left out taken once."""
        return "".join(
            self._full(node[1][2])
            if node[0] in REPEATS
            else self._full(node[1][3])
            if node[0] is kind.SUBPATTERN
            else self._full(node[1])
            if node[0] is kind.ATOMIC_GROUP
            else self._shortest(node)
            for node in tree
        )

    def attacks(self) -> list[Attack]:
        """On every repetition without bound."""
        made: dict[Attack, None] = {}
        for lead, node in self._repetitions(self.tree, ""):
            for pump in self.pumps(node[1][2]):
                for end in ENDS:
                    made[Attack(lead, pump, end)] = None
                    if lead:
                        made[Attack("", lead + pump, end)] = None
                        made[Attack("", lead, end)] = None
        return list(made)

    def _repetitions(self, tree: parser.SubPattern, lead: str) -> Iterator[tuple[str, tuple]]:
        for node in tree:
            if node[0] in REPEATS and node[1][1] >= MANY:
                yield lead, node
            for inner in _inner(node):
                yield from self._repetitions(inner, lead)
            lead += self._shortest(node)


def nodes(tree: parser.SubPattern) -> Iterator[tuple]:
    """All nodes, outer ones first."""
    for node in tree:
        yield node
        for inner in _inner(node):
            yield from nodes(inner)


def _inner(node: tuple) -> list[parser.SubPattern]:
    operation, said = node
    if operation in REPEATS:
        return [said[2]]
    if operation is kind.SUBPATTERN:
        return [said[3]]
    if operation is kind.ATOMIC_GROUP:
        return [said]
    if operation is kind.BRANCH:
        return list(said[1])
    return [said[1]] if operation in (kind.ASSERT, kind.ASSERT_NOT) else []


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


SIZES = (40, 3_000, 12_000, 48_000)
LIMIT_S = 0.4
"""CPU time of one match: a linear expression takes some 5 ms for the largest."""
NOTICEABLE_S = 0.03
STEEPER = 8
"""Times that four times the length takes, from which on it is no linear growth (4) but quadratic (16)."""
TRIES = 3
ENDLESS_S = 1_000.0
"""What stands for a match that was broken off."""


def slow_attack(pattern: re.Pattern, methods: set[str], longest: int = SIZES[-1]) -> str | None:
    """An attack, described, on which time is not in proportion to the length; None where none is found."""
    for attack in Samples(pattern).attacks():
        before, shorter = 0.0, ""
        for size in SIZES:
            text = attack.of(min(size, longest))
            took = _cpu_seconds(pattern, methods, text)
            if took > NOTICEABLE_S and took > STEEPER * before:
                if took < ENDLESS_S:  # both again: what else runs may have slowed down one of them
                    both = [
                        [_cpu_seconds(pattern, methods, each) for each in (shorter, text)]
                        for _ in range(TRIES)
                    ]
                    before, took = map(min, zip(*both, strict=True))
                if took > NOTICEABLE_S and took > STEEPER * before:
                    return f"{attack} of {len(text):,} characters: {took * 1000:.0f} ms, a quarter of it {before * 1000:.1f} ms"
            if size > SIZES[1] and took < NOTICEABLE_S / 10:
                break
            before, shorter = took, text
    return None


def _cpu_seconds(pattern: re.Pattern, methods: set[str], text: str) -> float:
    subject = text if isinstance(pattern.pattern, str) else _bytes(text)
    begun = time.process_time()
    try:
        with cpu_limit(LIMIT_S):
            if methods - {"match", "fullmatch"}:
                for _ in pattern.finditer(subject):
                    pass
            if "match" in methods:
                pattern.match(subject)
            if "fullmatch" in methods:
                pattern.fullmatch(subject)
    except TooLongError:
        return ENDLESS_S
    return time.process_time() - begun
