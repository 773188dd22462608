"""No command decodes Parquet in threads of pyarrow.

Such a thread may still hold the file, an object of Python's, when the interpreter ends: then the process is aborted
("terminate called without an active exception") after its work was done.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.packages import PACKAGES, ROOT

READS = ("read_row_group", "read_row_groups", "iter_batches", "read_table")


def test_the_rule_finds_a_read_in_threads():
    assert list(reads_in_threads("table.read_row_group(1)\ntable.iter_batches(use_threads=False)")) == [1]


@pytest.mark.parametrize("package", PACKAGES)
def test_tables_are_read_without_threads(package):
    for path in sorted((ROOT / package).rglob("*.py")):
        assert not list(reads_in_threads(path.read_text("utf-8"))), path.relative_to(ROOT)


def reads_in_threads(source: str) -> Iterator[int]:
    """Yield the lines of reads that do not say `use_threads=False`."""
    if not any(name in source for name in READS):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READS:
            said = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if said.get("use_threads") != "False":
                yield node.lineno
