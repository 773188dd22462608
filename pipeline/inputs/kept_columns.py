"""`KeptColumns`: which columns of the inputs an ingest keeps, and what it does not keep."""

from collections import Counter
from typing import TYPE_CHECKING

from thresher.storage.columns.kept_names import FOLDER
from thresher.storage.manifest import Manifest
from thresher.storage.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

    from thresher.storage.columns.kept_rows import Losses


class KeptColumns:
    """Columns of the archive files that one command has sealed."""

    __slots__ = ("_schema", "losses")

    def __init__(self) -> None:
        self._schema: pa.Schema | None = None
        self.losses: Losses = {}
        """Values that are not kept, by reason and by column."""

    def add(self, store: Store, manifest: Manifest) -> None:
        """Add the columns of an archive part."""
        for output in manifest.outputs:
            if output.name.startswith(f"{FOLDER}/"):
                from thresher.storage.columns.kept_rows import losses_of  # noqa: PLC0415 - only tables have columns
                from thresher.storage.columns.kept_table import kept_schema  # noqa: PLC0415
                from thresher.storage.columns.united_types import united_schema  # noqa: PLC0415

                schema = kept_schema(store, output.name)
                self._schema = united_schema([*([self._schema] if self._schema else []), schema])
                for reason, by_name in losses_of(schema).items():
                    self.losses.setdefault(reason, Counter()).update(by_name)

    @property
    def types(self) -> dict[str, str]:
        """The type of each column, in words."""
        if self._schema is None:
            return {}
        from thresher.storage.columns.united_types import type_in_words  # noqa: PLC0415

        return {field.name: type_in_words(field) for field in list(self._schema)[1:]}
