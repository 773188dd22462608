"""`Step` and `Part`: descriptions of work, without behaviour.

A step is `name@version` and the recipe: every parameter that can change a byte of its outputs. A part is the unit of
redo: some inputs, named by digest and range, from which one worker makes some outputs. A Manifest records the
fingerprint of both together, and results with another fingerprint are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from thresher.storage.manifest import Input, fingerprint
from thresher.storage.store import Store

if TYPE_CHECKING:
    from thresher.pipeline.engine.part_store import PartStore


class Preparation(NamedTuple):
    """What a worker process does before it is confined: it loads models of the user, whose libraries open files."""

    load: Callable[["PartStore", Sequence[str]], object]
    names: tuple[str, ...]
    """Objects that `load` reads. A worker process with another preparation is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of the pipeline."""

    name: str
    version: int
    recipe: Mapping[str, Any]
    memory: int = 0
    """Bytes that making one part may take, if that can be more than a worker's share of a machine; otherwise 0.

    It decides where a part can be made and not what is made, so it is no part of the fingerprint.
    """
    is_confined: bool = True
    """Whether its workers are confined. Only a step that runs the user's own code is not: that code may open files, use
    the network and start threads.
    """
    gpus: int = 0
    """GPUs that each worker has to itself. They are no part of the fingerprint either."""

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a step's work, made completely or not at all."""

    name: str
    """`source/part`, unique within the step. The name of its Manifest contains it."""
    inputs: tuple[Input, ...]
    parameters: Any = None
    """Further parameters of the work, such as a range of rows. They follow from recipe and inputs."""
    reads: tuple[str, ...] = ()
    """Objects that the work may read besides the inputs."""
    preparation: Preparation | None = None
    writes: tuple[str, ...]
    """All objects that the work makes."""
    stores: Mapping[str, Store] = field(default_factory=dict)
    """The stores of those objects that are not in the step's own storage, by name."""

    @property
    def bytes(self) -> int:
        """Bytes of the input ranges. Inputs that are read completely are not counted."""
        return sum(span.end - span.first for span in self.inputs if span.end is not None)

    def fingerprint(self, step: Step) -> str:
        """Return the fingerprint that the part's Manifest records."""
        return fingerprint(str(step), step.recipe, self.inputs)
