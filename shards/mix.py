"""A mix: which documents make which share of the dataset, and how often each of them occurs.

1. A document belongs to the first source of the mix whose conditions it meets. One that meets none is left out.
2. In a source, a document with weight w and rank u occurs floor(f * w + u) times, at most `repeat` times. Its rank, in
   (0, 1), is its place in a seeded permutation of the source. So its expected number of copies is f * w, and which
   documents occur once more is random and the same every time.
3. The factor f of each source is the one with which the source has the wanted number of tokens or documents. The
   difference is at most about one document.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.core import InputError
from thresher.shards.permutation import Permutation

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
CLUSTER_SIZE = "cluster_size"
MAX_SOURCES = 1_000
MAX_SHARE, MAX_REPEATS, MOST = 1e12, 10_000, 10**15
"""The largest share, number of repeats, and size or cap. Products of them still are exact enough."""
TRIES, PASSES = 16, 9
"""Factors that one pass over the documents tries, and passes: together they divide the range of a factor, some 30
decades at most, into 4 * 10^10 steps.
"""
ABOVE = 1 + 1e-9
"""So much above the factor with which all documents occur as often as they may, against rounding."""
TOLERANCE = 0.001
"""Part of the wanted amount by which a source may miss it without being called coarse."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The condition that a number lies between two bounds, both included."""

    min: float | None = None
    max: float | None = None


Condition = bool | str | list[str] | Bounds


class MixSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source of a mix."""

    name: str
    share: float
    where: dict[str, Condition] = {}
    """Conditions by column, all of which must hold."""
    repeat: int = 1
    """How often one document may occur at most."""
    cap: int | None = None
    """Tokens or documents that the source may have at most."""
    weight: str | None = None
    """A column of numbers: documents with more of it occur more often."""


class Mix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole mix."""

    source: list[MixSource]
    by: Literal["tokens", "documents"] = "tokens"
    """The unit of shares, size and caps."""
    size: int | None = None
    """Size of the dataset; None for the largest that has the shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealisedSource:
    """What a source of the mix has, and what it was to have."""

    name: str
    share: float
    """Its wanted share, of 1."""
    wanted: int
    """Tokens or documents that it was to have."""
    realised: int
    """Tokens or documents that it has."""
    available: int
    """Tokens or documents of all of its documents, each counted once."""
    documents: int
    """Different documents that belong to it."""
    rows: int
    """Documents that it has, copies included."""
    limit: str = ""
    """`dry` if its documents and repeats do not suffice, `cap` if its cap does not, `coarse` if no number of whole
    documents comes within 0.1 % of what it was to have; otherwise empty.
    """


def load_mix(path: Path) -> Mix:
    """Return the mix of a TOML file. Raise `InputError` of one line if the file cannot be read or is wrong."""
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"--mix {path}: no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"--mix {path}: cannot be read as TOML ({error})") from None
    fault = _shape_fault(body)
    if not fault:
        try:
            mix = msgspec.convert(body, Mix)
        except msgspec.ValidationError as error:
            raise InputError(f"--mix {path}: {error}; see docs/guides/exports.md") from None
        fault = _fault(mix)
    if fault:
        raise InputError(f"--mix {path}: {fault}")
    return mix


def nearest(name: str, known: Sequence[str]) -> str:
    """Return the part of a message that names the known word which is like `name`, or an empty text."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _shape_fault(body: Mapping[str, object]) -> str:
    """Return what is wrong with the keys of a mix file, or an empty text."""
    sources = body.get("source", ())
    if isinstance(sources, Mapping) or not isinstance(sources, Sequence):
        return "source is not a list of tables; begin each source with the line [[source]]"
    tables = [("the file", body, Mix), *(("a source", source, MixSource) for source in sources)]
    for where, table, kind in tables:
        known = kind.__struct_fields__
        unknown = (
            next((key for key in table if key not in known), None) if isinstance(table, Mapping) else None
        )
        if unknown is not None:
            return f"{where} has the unknown key {unknown!r}{nearest(unknown, known)}; known are {', '.join(known)}"
    return "" if sources else "has no [[source]]"


def _fault(mix: Mix) -> str:
    names = [source.name for source in mix.source]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        return f"source {repeated!r} occurs twice"
    if len(names) > MAX_SOURCES:
        return f"has {len(names):,} sources; {MAX_SOURCES:,} are possible"
    if mix.size is not None and not 1 <= mix.size <= MOST:
        return "size must be at least 1 and at most 10^15"
    return next(filter(None, map(_source_fault, mix.source)), "")


def _source_fault(source: MixSource) -> str:
    rules = [
        (
            NAME.fullmatch(source.name),
            "a name has up to 100 letters, digits, '-', '_' and '.', a letter or digit first",
        ),
        (1 / MAX_SHARE <= source.share <= MAX_SHARE, "share must be more than 0, from 1e-12 to 1e12"),
        (1 <= source.repeat <= MAX_REPEATS, f"repeat must be at least 1 and at most {MAX_REPEATS:,}"),
        (source.cap is None or 1 <= source.cap <= MOST, "cap must be at least 1 and at most 10^15"),
    ]
    for column, condition in source.where.items():
        rules.append((condition != [], f"where.{column} is an empty list, which no document meets"))
        if isinstance(condition, Bounds):
            given = [each for each in (condition.min, condition.max) if each is not None]
            rules += [
                (bool(given), f"where.{column} has neither min nor max"),
                (all(map(math.isfinite, given)), f"where.{column}: min and max must be finite numbers"),
                (given == sorted(given), f"where.{column}: min is more than max"),
            ]
    return next((f"source {source.name!r}: {wording}" for holds, wording in rules if not holds), "")


def ranks(numbers: IntArray, count: int, seed: int) -> FloatArray:
    """Return the rank, in (0, 1), of each candidate of a source, given its number among `count` candidates."""
    places = Permutation(n=max(count, 1), seed=seed).positions(numbers)
    return (places + 0.5) / max(count, 1)


def copies(factor: float, weights: FloatArray, rank: FloatArray, repeat: int) -> IntArray:
    """Return how often each document occurs (rule 2 of the module)."""
    return np.minimum(np.floor(factor * weights + rank), repeat).astype(np.int64)


def wanted_amounts(mix: Mix, most: Sequence[int]) -> tuple[list[int], list[str]]:
    """Return for each source the tokens or documents that it is to have, and its limit (`RealisedSource.limit`).

    `most` is what the documents of each source have at most, with repeats.
    """
    total = math.fsum(source.share for source in mix.source)
    shares = [source.share / total for source in mix.source]
    limits = [
        min(amount, source.cap if source.cap is not None else amount)
        for source, amount in zip(mix.source, most, strict=True)
    ]
    size = mix.size
    if size is None:
        size = int(min(limit / share for limit, share in zip(limits, shares, strict=True)))
    wanted = [round(size * share) for share in shares]
    reasons = []
    for source, amount, limit, has in zip(mix.source, wanted, limits, most, strict=True):
        if amount <= limit:
            reasons.append("")
        else:
            reasons.append("dry" if limit == has or source.cap is None else "cap")
    return wanted, reasons


def coarseness(wanted: int, realised: int) -> str:
    """Return `coarse` if an amount is not within 0.1 % of the wanted one, or if the wanted one is nothing."""
    return "coarse" if not wanted or abs(realised - wanted) > TOLERANCE * wanted else ""


def factor_bounds(lightest: float, heaviest: float, count: int, repeat: int) -> tuple[float, float]:
    """Return a factor with which none of `count` documents occurs, and one with which all do `repeat` times, given the
    smallest and the largest weight.
    """
    # A document occurs if f * w + u is 1 or more, and the largest rank u is 1 - 1 / (2 * count).
    return 0.25 / (heaviest * max(count, 1)), repeat / lightest * ABOVE


def solve_factors(
    amounts: Callable[[FloatArray], FloatArray],
    targets: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    capped: Sequence[bool],
) -> list[float]:
    """Return for each source the factor with which its amount is nearest to the target; where `capped` is set, the
    amount is not more than the target.

    `amounts` takes factors of shape (sources, tries) and returns the amounts with them. They never fall when a factor
    grows, are 0 with the lower bound, and the largest with the upper one. Each call reads all documents once. Factors
    are tried in steps of equal ratio, so their precision does not suffer from weights of a wide range.
    """
    low, high = (np.array(each, dtype=np.float64) for each in zip(*bounds, strict=True))
    goal = np.array(targets, dtype=np.float64)[:, None]
    at = np.arange(len(targets))
    for _ in range(PASSES):
        tried = np.geomspace(low, high, TRIES, axis=1)
        below = (amounts(tried) <= goal).sum(axis=1) - 1
        low = tried[at, np.maximum(below, 0)]
        high = tried[at, np.minimum(below + 1, TRIES - 1)]
    both = np.stack([low, high], axis=1)
    distance = np.abs(amounts(both) - goal)
    nearest = np.where(np.array(capped), 0, distance.argmin(axis=1))
    return [float(each) for each in both[at, nearest]]


def mix_line(source: RealisedSource, total: int, by: str) -> str:
    """Return the line about one source, for people."""
    share = source.realised / total if total else 0.0
    line = f"{source.name}: {share:.2%} (wanted {source.share:.2%}), {source.realised:,} {by}"
    if by != "documents":
        line += f", {source.rows:,} documents"
    if source.available and source.realised:
        line += f", {source.realised / source.available:.2f} epochs"
    if source.limit == "dry":
        line += f"; it ran dry at {source.realised:,} of {source.wanted:,} {by}"
    if source.limit == "cap":
        line += f"; its cap holds it below {source.wanted:,} {by}"
    if source.limit == "coarse" and source.realised:
        line += f"; whole documents come no nearer to {source.wanted:,} {by}"
    if source.limit == "coarse" and not source.realised:
        line += "; its share is too small for one document"
    return line


def sources_of(mix: Mix) -> tuple[str, ...]:
    """Return the names of the sources."""
    return tuple(source.name for source in mix.source)


def mix_recipe(mix: Mix) -> Mapping[str, object]:
    """Return the mix as plain JSON for a recipe."""
    built: Mapping[str, object] = msgspec.to_builtins(mix)
    return built
