"""`Loader`: batches of token sequences for one rank of a training run."""

import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from core import InputError
from shards.loader.loader_options import LoaderOptions, check_options, size_of
from shards.loader.loader_run import open_run, steps
from shards.loader.state import Position, from_state, to_state
from shards.loader.token_origin import TokenOrigin, origin_of, token_at
from shards.packed_rows import Batch
from shards.packing import PackingLoss, joined_loss, packing_loss
from storage.cache.block_cache import default_directory

if TYPE_CHECKING:
    from shards.loader.torch_dataset import LoaderDataset


class Loader:
    """Iterates over the batches of one rank.

    All ranks see one global order, which does not depend on their number. Step t of a run is its sequences
    `[t * G, (t + 1) * G)` with `G = batch_size * world_size`, and each rank gets `batch_size` of them. A batch is a
    dict of NumPy arrays of shape (batch_size, length): `input_ids` (int64), `positions` (int32, from 0 in each piece of
    a document) and `segments` (int32, the pieces of a row numbered from 1; 0 is padding). `sequences` has the number of
    each row in the run.

    Iterating continues where the loader stands, and ends after `epochs`. If the rest of the run does not fill a step,
    that step is left out (`drop_last=True`), or filled up with rows of padding, whose numbers are negative. So every
    rank has the same number of steps.

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
        epochs: int | None = 1,
        shuffle: str = "global",
        drop_last: bool = True,
        pad_id: int = 0,
        cache: str | Path | None = None,
        cache_size: str | int = "50GiB",
    ) -> None:
        """Open one or several exports: directories, or addresses such as `s3://bucket/out`.

        `packing` is `best-fit`, `concat` or `none`; `shuffle` is `global`, `window` or `none`. `cache` is a directory
        for shards from a bucket and for packing plans, by default one in the user's cache directory.

        Raise `InputError` if an option is wrong or there is no export, and `CorruptData` if its files are damaged.
        """
        self._locations = [datasets] if isinstance(datasets, str | Path) else list(datasets)
        options = LoaderOptions(
            length=length,
            batch_size=batch_size,
            rank=rank,
            world_size=world_size,
            seed=seed,
            packing=packing,
            mix=None if mix is None else dict(sorted(mix.items())),
            epochs=epochs,
            shuffle=shuffle,
            drop_last=drop_last,
            pad_id=pad_id,
            cache=Path(cache) if cache else default_directory().with_name("shards"),
            cache_bytes=size_of(cache_size),
        )
        check_options(options)
        self._start(options, Position())

    def _start(self, options: LoaderOptions, position: Position) -> None:
        self._run = open_run(self._locations, options)
        self._position = position
        self._stop_file: Path | None = None
        self._must_stop = False

    @property
    def sequences(self) -> int | None:
        """Number of sequences of the whole run, of all ranks; None if it does not end."""
        return self._run.end

    @property
    def sources(self) -> tuple[str, ...]:
        """The names that a `mix` may use."""
        return tuple(self._run.data.sources)

    def __iter__(self) -> Iterator[Batch]:
        """Continue the run where the loader stands."""
        for position, batch in self.steps(0, 1):
            if self._ends_on_signal():
                return
            self._position = position
            yield batch
        self._ends_on_signal()

    def steps(self, first: int, stride: int) -> Iterator[tuple[Position, Batch]]:
        """Yield the steps `first`, `first + stride`, ... from where the loader stands, each with the position after it.

        The loader itself stays where it stands, so several workers can share the steps of one rank.
        """
        return steps(self._run, self._position.sequences, first, stride)

    def state_dict(self, after: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the position, as a few hundred bytes of JSON: after the last batch that the loader gave, or after the
        batch `after`, if other batches were read ahead of it.

        The state is the same on every rank, and fits a loader of any `world_size` and `batch_size`.
        """
        position = self._position if after is None else self._position_after(after)
        return to_state(self._run.identity, position)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Stand where a state was taken.

        Raise `InputError`, which names the field, if the state belongs to another run: other data, length, packing,
        shuffle, seed or mix.
        """
        self._position = from_state(state, self._run.identity)

    def trace(self, state: Mapping[str, Any], *, row: int, position: int) -> TokenOrigin:
        """Return where a token came from: the one at `position` in row `row` of the last batch of this rank before
        `state` was taken.

        Raise `InputError` if there was no such row, or if the position is padding.
        """
        at, options = from_state(state, self._run.identity), self._run.options
        if not 0 <= row < options.batch_size or not 0 <= position < options.length:
            raise InputError(
                f"row={row}, position={position}: a batch has {options.batch_size} rows of {options.length} positions"
            )
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
        main thread may call this.
        """
        self._stop_file = Path(path)

        def note(_signal: int, _frame: FrameType | None) -> None:
            self._must_stop = True

        signal.signal(signal.SIGTERM, note)

    def torch(self) -> "LoaderDataset":
        """Return an `IterableDataset` of whole batches for `DataLoader(..., batch_size=None)`, with any number of
        workers. Needs PyTorch.
        """
        from shards.loader.torch_dataset import LoaderDataset  # noqa: PLC0415 - PyTorch is no requirement

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
        number, options = int(batch["sequences"][0]), self._run.options
        begin = (~number if number < 0 else number) - options.rank * options.batch_size
        stop = begin + options.step if self._run.end is None else min(begin + options.step, self._run.end)
        return Position(sequences=stop, last=stop - begin)

    def _ends_on_signal(self) -> bool:
        if not self._must_stop or self._stop_file is None:
            return False
        new = self._stop_file.with_name(self._stop_file.name + ".new")
        new.write_text(json.dumps(self.state_dict()) + "\n")
        os.replace(new, self._stop_file)  # noqa: PTH105
        return True


def _reopened(locations: list[str | Path], options: LoaderOptions, position: Position) -> Loader:
    """Return a loader with files and threads of its own, for another process."""
    loader = object.__new__(Loader)
    loader._locations = locations
    loader._start(options, position)
    return loader
