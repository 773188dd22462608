"""A loader as PyTorch takes it."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import torch
from torch.utils.data import IterableDataset, get_worker_info

from thresher.shards.loader.state import Position, from_worker_state, to_worker_state
from thresher.shards.packed_rows import Batch

TorchBatch = dict[str, torch.Tensor]


class StepLoader(Protocol):
    """What a dataset needs of `Loader`."""

    def steps(self, first: int, stride: int) -> Iterator[tuple[Position, Batch]]:
        """Yield every `stride`-th step from where the loader stands."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader stands."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Stand where a state was taken."""
        ...

    def reopened(self) -> "StepLoader":
        """Return a loader at the same place with files and threads of its own."""
        ...


class LoaderDataset(IterableDataset[TorchBatch]):  # type: ignore[misc]  # PyTorch is no requirement, so mypy sees Any
    """The batches of a loader as tensors, in the same order with any number of workers.

    Give it to `DataLoader(dataset, batch_size=None, num_workers=N)`. Worker w of N makes the steps w, w + N, ..., and
    the `DataLoader` takes them in turn.

    The workers move and the loader does not, so a second loop over the `DataLoader` begins again where the loader
    stands.

    `StatefulDataLoader` keeps its state with the same number of workers. To continue with another number of workers or
    ranks, save `loader.state_dict(after=batch)` with the batch that was trained on last.
    """

    def __init__(self, loader: StepLoader) -> None:
        super().__init__()
        self.loader = loader

    def __iter__(self) -> "LoaderIterator":
        worker = get_worker_info()
        if worker is None:
            return LoaderIterator(self.loader, 0, 1)
        return LoaderIterator(self.loader.reopened(), worker.id, worker.num_workers)


class LoaderIterator(Iterator[TorchBatch]):
    """The steps of one worker. Its state is where the loader began, and how many steps it gave since."""

    def __init__(self, loader: StepLoader, worker: int, workers: int) -> None:
        self._loader = loader
        self._worker, self._workers = worker, workers
        self._given = 0
        self._start = loader.state_dict()
        self._steps = loader.steps(worker, workers)

    def __next__(self) -> TorchBatch:
        _, batch = next(self._steps)
        self._given += 1
        return {name: torch.from_numpy(array) for name, array in batch.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the state of this worker, for `StatefulDataLoader`."""
        return to_worker_state(self._start, self._given)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where the state of the same worker was taken. Raise `InputError` if it is no such state."""
        start, given = from_worker_state(state)
        self._loader.load_state_dict(start)
        self._start, self._given = dict(start), given
        self._steps = self._loader.steps(self._worker + self._given * self._workers, self._workers)
