"""The rooms of the product and of its tests: every module has a name of its own, and no module is too large to take in."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.packages import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MODULES = [path for path in FILES if path.name != "__init__.py"]
FOLDERS = sorted({path.parent for path in FILES})
TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))
MAX_MODULES = 16
MAX_LINES = 450
SAME_NAME = {
    "crawler/replay/replay.py",
}
"""Modules that bear the name of their package."""
EVERY_FOLDER = {"__init__.py", "__main__.py", "conftest.py"}
"""Modules that any folder of the tests may have."""


def test_a_name_belongs_to_one_module():
    found = defaultdict(set)
    for module in MODULES:
        found[module.stem].add(str(module))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_a_name_belongs_to_one_module_of_the_tests():
    found = defaultdict(set)
    for module in TESTS:
        if module.name not in EVERY_FOLDER:
            found[module.stem].add(str(module))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_a_package_holds_no_module_of_its_own_name():
    assert {str(module) for module in MODULES if module.stem == module.parent.name} - SAME_NAME == set()


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_folder_holds_few_modules_and_tells_its_story(folder):
    assert sum(module.parent == folder for module in MODULES) <= MAX_MODULES
    assert ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8")))


def test_a_module_can_be_read_in_one_go():
    lines = {str(module): len((ROOT / module).read_text(encoding="utf-8").splitlines()) for module in MODULES}
    assert len(lines) > 300
    assert {module for module, number in lines.items() if number > MAX_LINES} == set()


def test_a_module_of_the_tests_can_be_read_in_one_go():
    lines = {str(module): len((ROOT / module).read_text(encoding="utf-8").splitlines()) for module in TESTS}
    assert len(lines) > 500
    assert {module for module, number in lines.items() if number > MAX_LINES} == set()


BENCHES = sorted(
    path.relative_to(ROOT) for path in (ROOT / "bench").rglob("*.py") if path.name != "__init__.py"
)


def test_a_bench_has_a_name_of_its_own_in_a_folder_of_few():
    folders, names = Counter(bench.parent for bench in BENCHES), Counter(bench.stem for bench in BENCHES)
    assert len(BENCHES) > 50
    assert {str(folder) for folder, number in folders.items() if number > MAX_MODULES} == set()
    assert {name for name, number in names.items() if number > 1} == set()
    assert {
        str(bench) for bench in BENCHES if bench.stem == bench.parent.name or str(bench.parent) == "bench"
    } == set()
