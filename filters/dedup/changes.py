"""What a change of the documents changes in the decisions about duplicates. Pure.

A change passes five stages: equal texts, equal URLs, bands, matches in a band, and removals of near duplicates. Each
function takes rows of the groups that are touched, as they were before, and the change, both signed (`zsets`). It
decides the groups before and after (`filters.dedup.decisions`), and returns the difference. Therefore many changes have
the same result as one change that brings everything at once.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thresher.filters.dedup.decisions import decide_buckets
from thresher.filters.dedup.dedup_rows import (
    BAND,
    ID,
    KINDS,
    SITE,
    SIZES,
    TEXT,
    URL,
    WITNESS,
    RowTypes,
    converted,
)
from thresher.filters.dedup.site_text import COPY, OWN_TEXT
from thresher.filters.dedup.zsets import Rows, difference, sort_order, starts_of, total


class StageChange(NamedTuple):
    """What a stage changes."""

    removals: Rows
    best: Rows
    """The best row of each group: what goes on to the next stage."""


def change_of_texts(types: RowTypes, before: Rows, change: Rows) -> StageChange:
    """Return what changes among equal texts. Both arguments are rows of `texts`."""
    return _change(before, change, lambda rows: _keep_first(rows, TEXT, "exact", types))


def change_of_urls(types: RowTypes, before: Rows, change: Rows) -> StageChange:
    """Return what changes among documents of one URL. Both arguments are rows of `urls`."""
    return _change(before, change, lambda rows: _keep_first(rows, URL, "url", types))


def with_url(types: RowTypes, best: Rows) -> tuple[Rows, Rows]:
    """Divide the best of the texts: rows of `urls`, and rows of `stays` for documents without a URL."""
    has_url = (best["url_hi"] != 0) | (best["url_lo"] != 0)
    newest_first = ~best["fetched"]
    urls = converted(best[has_url], types.urls, fetched=newest_first[has_url])
    return urls, converted(best[~has_url], types.stays)


def change_of_members(types: RowTypes, before: Rows, change: Rows) -> Rows:
    """Return the members of all touched bands that have several documents, before or after. The arguments are rows of
    `bands`.
    """
    # Most bands have one document: no sum is needed to see that, and they are left out before anything is summed.
    starts = starts_of(change, BAND)
    keys = np.ascontiguousarray(change["band"])
    shared = np.repeat(np.diff(np.append(starts, len(change))) > 1, np.diff(np.append(starts, len(change))))
    change = change[shared | np.isin(keys, before["band"])]
    was, now = (_of_groups(rows) for rows in (total(before), total(before, change)))
    both = np.concatenate(
        (converted(was, types.members, was=1, now=0), converted(now, types.members, was=0, now=1))
    )
    both = both.take(sort_order(both, (*ID, *BAND)))
    starts = starts_of(both, (*ID, *BAND))
    members = both[starts]
    for presence in ("was", "now") if len(members) else ():
        members[presence] = np.add.reduceat(both[presence], starts)
    return members


def candidates_of(types: RowTypes, members: Rows, documents: Rows) -> Rows:
    """Return the members with their ranks and signatures, sorted by band and rank. Row n of `documents` has those of
    member n.
    """
    ranks = [name for name in types.candidates.names or () if name.startswith("rank_")]
    facts = {name: documents[name] for name in (*ranks, SITE, *SIZES)}
    halves = documents["minhash"].astype(types.candidates["minhash"].base)
    rows = converted(members, types.candidates, **facts, minhash=halves)
    return rows.take(sort_order(rows, (*BAND, *ranks, *ID)))


def change_of_matches(types: RowTypes, candidates: Rows, fewest_equal: int) -> Rows:
    """Return the change of `matches` in the bands of the candidates, which come with all their members."""
    now, was = (
        _matches(types, candidates[candidates[presence] == 1], fewest_equal) for presence in ("now", "was")
    )
    return difference(now, was)


def change_of_removals(types: RowTypes, before: Rows, change: Rows) -> Rows:
    """Return the change of the removals of near duplicates. Both arguments are rows of `matches`."""
    return difference(_closest(types, total(before, change)), _closest(types, total(before)))


def _change(before: Rows, change: Rows, decide: Callable[[Rows], StageChange]) -> StageChange:
    was, now = decide(total(before)), decide(total(before, change))
    return StageChange(*(difference(new, old) for new, old in zip(now, was, strict=True)))


def _keep_first(rows: Rows, key: tuple[str, ...], kind: str, types: RowTypes) -> StageChange:
    """Keep the first row of each group. The rows are sorted, and within a group that is the order of the ranks."""
    starts = starts_of(rows, key)
    first = np.repeat(starts, np.diff(np.append(starts, len(rows))))
    others = np.flatnonzero(first != np.arange(len(rows)))
    witnesses = {name: rows[of][first[others]] for name, of in zip(WITNESS, ID, strict=True)}
    removed = converted(rows[others], types.removals, **witnesses, kind=KINDS.index(kind), equal=0)
    return StageChange(removed, rows[starts])


def _of_groups(bands: Rows) -> Rows:
    """Return the rows of bands that have several documents."""
    starts = starts_of(bands, BAND)
    sizes = np.diff(np.append(starts, len(bands)))
    return bands[np.repeat(sizes > 1, sizes)]


def _matches(types: RowTypes, members: Rows, fewest_equal: int) -> Rows:
    starts = starts_of(members, BAND)
    buckets = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(members))))
    decided = decide_buckets(buckets, members[SITE], members["minhash"], fewest_equal)
    matched = np.flatnonzero(decided.witness >= 0)
    found = {name: members[of][decided.witness[matched]] for name, of in zip(WITNESS, ID, strict=True)}
    found |= {name: getattr(decided, name)[matched] for name in ("equal", "resemblance")}
    return total(converted(members[matched], types.matches, **found))


def _closest(types: RowTypes, matches: Rows) -> Rows:
    """Return the removal of each document: its most similar witness, or the one with the smallest id among equals.
    `matches` is sorted by id.
    """
    matches = _copies(matches)
    most_equal_first = -matches["equal"].astype(np.int64)
    order = np.lexsort(
        [
            matches["witness_lo"],
            matches["witness_hi"],
            most_equal_first,
            *(matches[name] for name in reversed(ID)),
        ]
    )
    ordered = matches[order]
    best = ordered[starts_of(ordered, ID)]
    return converted(best, types.removals, kind=KINDS.index("near"))


def _copies(matches: Rows) -> Rows:
    """Return the matches that make a document a copy. A document that shares the text of its site only in one band is
    no copy because of a band in which that was unclear.
    """
    if not len(matches):
        return matches
    starts = starts_of(matches, ID)
    highest = np.maximum.reduceat(matches["resemblance"], starts)
    has_own_text = np.repeat(highest == OWN_TEXT, np.diff(np.append(starts, len(matches))))
    copies: Rows = matches[(matches["resemblance"] == COPY) | ~has_own_text]
    return copies
