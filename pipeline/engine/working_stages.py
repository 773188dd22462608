"""`WorkingStages`: the stages of one computation. What they seal are working files, which it can always make again.

1. A stage is a step of the engine: a run may be killed anywhere, and the next run continues it.
2. Damaged results of a stage are made again when it begins.
3. If a part of a stage fails, the results of the stages before are checked, because they may be the cause. Those that
   are damaged are unsealed, so that the next run makes them again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thresher.core import ThresherError
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.damaged_parts import unseal_damaged
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import WorkFunction
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.manifest import Manifest
from thresher.storage.store import Store


class DamagedWorkingFiles(ThresherError):
    """A stage failed because working files that an earlier stage sealed are damaged. They are unsealed now."""


@dataclass(slots=True, kw_only=True)
class WorkingStages:
    """The stages that one run has made so far."""

    purpose: str
    """What the working files are for, in messages: `the export`."""
    scratch: Store
    """The store of the working files, and of all Manifests."""
    pool: WorkerPool
    progress: Progress
    """Shows the parts of each stage."""
    summary: StepSummary = field(default_factory=lambda: StepSummary(made=0, already=0))
    _made: list[tuple[Step, Sequence[Part]]] = field(default_factory=list)

    def run(self, step: Step, parts: Sequence[Part], work: WorkFunction) -> Iterator[Manifest]:
        """Make all parts of a stage. Return their Manifests in the order of `parts`, each read when it is asked for.

        Raise `DamagedWorkingFiles` if a part fails and a stage before has damaged results, and `ThresherError` if it
        fails for another reason.
        """
        unseal_damaged(self.scratch, step, parts, self.progress)
        ran = run_step.run_step(
            self.scratch, step, parts, work, pool=self.pool, progress=self.progress, retry=True
        )
        self.summary = self.summary.plus(ran)
        if ran.quarantined and sum(
            unseal_damaged(self.scratch, *before, self.progress) for before in self._made
        ):
            raise DamagedWorkingFiles(
                f"working files of {self.purpose} were damaged while it ran ({ran.quarantined[0].reason}); "
                "check the disk, and run the same command again"
            )
        ran.require_all()
        self._made.append((step, parts))
        return self._manifests(step, parts)

    def _manifests(self, step: Step, parts: Sequence[Part]) -> Iterator[Manifest]:
        for part in parts:
            manifest = run_step.sealed_manifest(self.scratch, step, part)
            assert manifest is not None
            yield manifest
