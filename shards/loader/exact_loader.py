"""`Loader`: batches of token sequences for one rank of a training run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.core import InputError
from thresher.shards.loader.loader_options import LoaderOptions, checked_locations, checked_options
from thresher.shards.loader.loader_run import open_run, steps
from thresher.shards.loader.loader_values import whole
from thresher.shards.loader.state import Position, from_state, to_state
from thresher.shards.loader.stop_signal import StopSignal
from thresher.shards.loader.token_origin import TokenOrigin, origin_of, token_at
from thresher.shards.packed_rows import Batch
from thresher.shards.packing import PackingLoss, joined_loss, packing_loss

if TYPE_CHECKING:
    from thresher.shards.loader.torch_dataset import LoaderDataset


class Loader:
    """Iterates over the batches of one rank.

    All ranks see one global order, which does not depend on their number. Step t of a run is its sequences
    `[t * G, (t + 1) * G)` with `G = batch_size * world_size`, and each rank gets `batch_size` of them. A batch is a
    dict of NumPy arrays of shape (batch_size, length): `input_ids` (int64), `positions` (int32, from 0 in each piece of
    a document) and `segments` (int32, the pieces of a row numbered from 1; 0 is padding). `sequences` has the number of
    each row in the run. An export of conversations has `labels` (int64) too: ids of tokens that bear loss, and -100.

    Iterating continues where the loader stands, and ends after `epochs`. If the rest of the run does not fill a step,
    that step is left out (`drop_last=True`), or filled up with rows of padding, whose numbers are negative. So every
    rank has the same number of steps.

    A second `for` goes on after a `break`. After the end of the run it raises `InputError`: give `epochs=3` instead of
    three loops, or load an earlier state to begin again there. A loader that was given the state of the end of its run
    yields no batch.

    With `mix`, the sequences come from the named sources in these proportions. The run ends before the first sequence
    that would be from more than `epochs` epochs of its source. With `epochs=None` it never ends: each source that is
    used up begins a new epoch of its own, in a new order.
    """

    def __init__(  # noqa: PLR0913 - the options of a user
        self,
        datasets: str | Path | Sequence[str | Path],
        *,
        length: int,
        batch_size: int,
        rank: int = 0,
        world_size: int = 1,
        seed: int = 0,
        packing: str = "best-fit",
        mix: Mapping[str, float] | None = None,
        phases: str | Path | Sequence[Mapping[str, Any]] | None = None,
        epochs: int | None = 1,
        max_sequences: int | None = None,
        shuffle: str = "global",
        drop_last: bool = True,
        pad_id: int = 0,
        cache: str | Path | None = None,
        cache_size: str | int = "50GiB",
    ) -> None:
        """Open one or several exports: directories, or addresses such as `s3://bucket/out`.

        `packing` is `best-fit`, `concat` or `none`; `shuffle` is `global`, `window` or `none`. `cache` is a directory
        for shards from a bucket and for packing plans, by default one in the user's cache directory. `phases` is a list
        of mixes, one after another: dicts with `shares` or `temperature` (`mix_phase.MixPhase`), and, but for the last
        one, `until`: the number of sequences at which it ends, or a part of `max_sequences` such as `80%`; or a TOML
        file with `[[phase]]`.

        Raise `InputError` if an option is wrong, if there is no export, or if the whole run has less than a step and
        `drop_last` is set. Raise `CorruptData` if files of the export are damaged or are not those of its manifest, and
        `Unavailable` if the cache or the bucket cannot be used.
        """
        options = checked_options(
            {
                "length": length,
                "batch_size": batch_size,
                "rank": rank,
                "world_size": world_size,
                "seed": seed,
                "packing": packing,
                "mix": mix,
                "phases": phases,
                "epochs": epochs,
                "max_sequences": max_sequences,
                "shuffle": shuffle,
                "drop_last": drop_last,
                "pad_id": pad_id,
                "cache": cache,
                "cache_size": cache_size,
            }
        )
        self._locations = checked_locations(datasets)
        self._start(options, Position())

    def _start(self, options: LoaderOptions, position: Position) -> None:
        self._run = open_run(self._locations, options)
        self._position = position
        self._stop: StopSignal | None = None
        self._has_ended = False

    @property
    def sequences(self) -> int | None:
        """Number of sequences of the whole run, of all ranks; None if it does not end."""
        return self._run.end

    @property
    def sources(self) -> tuple[str, ...]:
        """The names that a `mix` may use."""
        return tuple(self._run.data.sources)

    def __iter__(self) -> Iterator[Batch]:
        """Continue the run where the loader stands. Raise `InputError` if a loop over it has reached its end."""
        if self._has_ended:
            raise InputError(
                f"the run has ended: epochs={self._run.options.epochs}; make the loader with more epochs, or load a "
                "state to continue there"
            )
        return self._batches()

    def _batches(self) -> Iterator[Batch]:
        for position, batch in self.steps(0, 1):
            if self._ends_on_signal():
                return
            self._position = position
            yield batch
        self._has_ended = True
        self._ends_on_signal()

    def steps(self, first: int, stride: int) -> Iterator[tuple[Position, Batch]]:
        """Yield the steps `first`, `first + stride`, ... from where the loader stands, each with the position after it.

        The loader itself stays where it stands, so several workers can share the steps of one rank.
        """
        return steps(self._run, self._position.sequences, first, stride)

    def state_dict(self, after: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the position, as a few hundred bytes of JSON: after the last batch that the loader gave, or after the
        batch `after`, if other batches were read ahead of it.

        The state is the same on every rank, and fits a loader of any `world_size` and `batch_size`. Raise `InputError`
        if `after` is no batch of this rank.
        """
        position = self._position if after is None else self._position_after(after)
        return to_state(self._run.identity, position)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Stand where a state was taken.

        Raise `InputError`, which names the field, if the state belongs to another run (other data, length, packing,
        shuffle, seed or mix), stands behind the end of this run, or is no state. The loader then stays where it stands.
        """
        self._position = from_state(state, self._run.identity, self._run.end)
        self._has_ended = False

    def trace(self, state: Mapping[str, Any], *, row: int, position: int) -> TokenOrigin:
        """Return where a token came from: the one at `position` in row `row` of the last batch of this rank before
        `state` was taken.

        Raise `InputError` if there was no such row, or if the position is padding.
        """
        options = self._run.options
        at = from_state(state, self._run.identity, self._run.end)
        row = whole("row", row, 0, options.batch_size - 1)
        position = whole("position", position, 0, options.length - 1)
        number = at.sequences - at.last + options.rank * options.batch_size + row
        if number >= at.sequences:
            raise InputError(f"row={row}: the last batch before the state has no sequence in that row")
        shards, sequences = self._run.reader.place(np.array([number]))
        shard = int(shards[0])
        token = token_at(self._run.reader.pieces(shard, sequences), position)
        return origin_of(self._run.data.shards[shard], self._run.access.ends(shard), token)

    def packing_loss(self) -> PackingLoss:
        """Return what the packing of all shards costs: padding, cut documents, tokens left out.

        Reads the ends of all documents.
        """
        run = self._run
        return joined_loss(
            packing_loss(run.options.packing, run.access.ends(shard), count, run.options.length)
            for shard, count in enumerate(run.counts)
        )

    def metrics(self) -> dict[str, float]:
        """Return what this loader has counted since it was made, by the names that Prometheus has for it."""
        return self._run.metrics.named()

    def stop_on_sigterm(self, path: str | Path) -> None:
        """From now on, a SIGTERM ends the iteration before the next batch and writes the state to `path`, as JSON.

        The step in work is finished first, so the state fits the model that the caller saves after its loop. Only the
        main thread may call this. Raise `InputError` if `path` cannot be written now, or in another thread.
        """
        self._stop = StopSignal(path)

    def torch(self) -> "LoaderDataset":
        """Return an `IterableDataset` of whole batches for `DataLoader(..., batch_size=None)`, with any number of
        workers. Needs PyTorch.
        """
        from thresher.shards.loader.torch_dataset import LoaderDataset  # noqa: PLC0415 - PyTorch is no requirement

        return LoaderDataset(self)

    def close(self) -> None:
        """Let go of all shards and end the downloads."""
        self._run.access.close()

    def reopened(self) -> "Loader":
        """Return a loader at the same place with files and threads of its own, for a forked process."""
        return _reopened(self._locations, self._run.options, self._position)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._locations, self._run.options, self._position)

    def __repr__(self) -> str:
        options = self._run.options
        return (
            f"<loader of {', '.join(map(str, self._locations))}: rank {options.rank} of {options.world_size}, "
            f"sequence {self._position.sequences} of {self._run.end or 'a run without end'}>"
        )

    def _position_after(self, batch: Mapping[str, Any]) -> Position:
        options, end = self._run.options, self._run.end
        try:
            number = int(batch["sequences"][0])
        except (KeyError, IndexError, TypeError, ValueError):
            raise InputError(
                "state_dict(after=...): give a batch of this loader, with its `sequences`"
            ) from None
        begin = (~number if number < 0 else number) - options.rank * options.batch_size
        stop = begin + options.step if end is None else min(begin + options.step, end)
        if not 0 <= begin < stop:
            raise InputError(
                f"state_dict(after=...): its sequences begin with {number}, which is not in a batch of rank "
                f"{options.rank}; give a batch of this loader"
            )
        return Position(sequences=stop, last=stop - begin)

    def _ends_on_signal(self) -> bool:
        if self._stop is None or not self._stop.is_set:
            return False
        self._stop.save(self.state_dict())
        return True


def _reopened(locations: list[str | Path], options: LoaderOptions, position: Position) -> Loader:
    """Return a loader with files and threads of its own, for another process."""
    loader = object.__new__(Loader)
    loader._locations = locations
    loader._start(options, position)
    return loader
