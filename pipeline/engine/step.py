"""`Step` and `Part`: what is to be made, described and inert.

A step is `name@version` and the recipe: every parameter that can change a byte of its outputs. A part is the
unit of redo: some inputs, named by digest and range, from which one worker makes some outputs. The
fingerprint of both together is what a Manifest records, and what refuses work made from anything else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from storage.manifest import Input, fingerprint
from storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of the pipeline."""

    name: str
    version: int
    recipe: Mapping[str, Any]
    memory: int = 0
    """Bytes that making one part may take, where that can be more than a worker's share of a machine; 0 where not.
    Says where a part can be made, not what is made: no part of the fingerprint.
    """

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a step's work: made whole or not at all."""

    name: str
    """`source/part`, unique within the step; its Manifest is found under it."""
    inputs: tuple[Input, ...]
    parameters: Any = None
    """What the worker is told besides, such as a range of rows; follows from recipe and inputs."""
    reads: tuple[str, ...] = ()
    """Objects that it may read besides the inputs."""
    writes: tuple[str, ...]
    """Objects that it makes, all of them."""
    stores: Mapping[str, Store] = field(default_factory=dict)
    """Where those of these objects lie that are not in the step's own storage."""

    @property
    def bytes(self) -> int:
        """Of the ranges that it is made from; inputs that are read whole are not in it."""
        return sum(span.end - span.first for span in self.inputs if span.end is not None)

    def fingerprint(self, step: Step) -> str:
        """What the part's Manifest will carry."""
        return fingerprint(str(step), step.recipe, self.inputs)
