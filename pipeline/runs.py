"""Runs: the result and the cost of each run of a step, stored in the project however the run ended.

The catalog and the report add up costs from these records. Nothing else depends on them. If a record cannot be stored
because the storage failed, the run still ends with its own error.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from thresher.core import ThresherError
from thresher.core.tracing import identified, span
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.engine.step import Step
from thresher.pipeline.engine.task import cpu_seconds
from thresher.pipeline.open_project import OpenProject
from thresher.storage.run import Outcome, Run, put


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """What is recorded about a run in progress."""

    id: str = field(default_factory=lambda: os.urandom(16).hex())
    summary: StepSummary = field(default_factory=lambda: StepSummary(made=0, already=0))


@contextmanager
def record_run(project: OpenProject, step: Step, sources: tuple[str, ...]) -> Iterator[RunRecord]:
    """Record the run of a step that happens within the context. The caller sets `summary` on the yielded record."""
    record = RunRecord()
    started_ms, cpu = time.time_ns() // 1_000_000, cpu_seconds()
    outcome: Outcome = "failed"
    message = ""
    try:
        with identified(run=record.id), span("step", step=str(step), sources=", ".join(sources)):
            yield record
        outcome = "done"
    except ThresherError as error:
        message = str(error)
        raise
    except (KeyboardInterrupt, SystemExit):  # raised by signal handlers
        outcome = "interrupted"
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise
    finally:
        ended_ms = time.time_ns() // 1_000_000
        ran = record.summary
        run = Run(
            id=record.id,
            step=step.name,
            version=step.version,
            started_ms=started_ms,
            ended_ms=max(ended_ms, started_ms),
            host=socket.gethostname(),
            engine="local" if project.config.project.cluster is None else "ray",
            sources=sources,
            made=ran.made,
            already=ran.already,
            redone=ran.deaths,
            quarantined=len(ran.quarantined),
            cpu_s=ran.cpu_s + cpu_seconds() - cpu,
            wall_s=max(ended_ms - started_ms, 0) / 1000,
            worker_s=ran.worker_s,
            bytes_read=ran.bytes_read,
            bytes_written=ran.bytes_written,
            peak_rss=ran.peak_rss,
            outcome=outcome,
            message=message,
        )
        # If the storage does not respond now, do not wait for it with a record.
        if project.store.unavailable_since_ms() is None:
            with suppress(ThresherError):
                put(project.store, run)
