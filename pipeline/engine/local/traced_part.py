"""`make_traced`: make a part inside a span, in the thread or actor that serves its worker process.

The worker process itself reads what strangers wrote. It has no network and no secrets, so it records no spans.
"""

from thresher.core.tracing import identified, span
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.task import Assignment, TaskOutcome
from thresher.pipeline.telemetry.trace_context import joined


def make_traced(process: PartProcess, assignment: Assignment, *, is_whole_process: bool) -> TaskOutcome:
    """Return `process.make(assignment)`. `is_whole_process` is as for `joined`."""
    with (
        joined(assignment.trace, is_whole_process=is_whole_process),
        identified(part=assignment.name),
        span("part", step=str(assignment.step), bytes=assignment.bytes),
    ):
        return process.make(assignment)
