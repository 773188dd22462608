"""Every module, class and attribute that the code names in backticks exists."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.packages import PACKAGES
from thresher.pipeline import configuration

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
NAME = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)+)(?:\(\))?`(?!`)")


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def attributes(of):
    """The names that the body of a class binds, and those that its methods bind on `self`."""
    for node in ast.walk(of):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


@cache
def classes():
    """Each class of the product with its attributes and those of its bases. Classes of one name count as one."""
    nodes = defaultdict(list)
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                nodes[node.name].append(node)

    def inherited(name):
        bases = {ast.unparse(base).partition("[")[0] for node in nodes[name] for base in node.bases} - {name}
        own = {attribute for node in nodes[name] for attribute in attributes(node)}
        return own.union(*(inherited(base) for base in bases & nodes.keys()))

    return {name: inherited(name) for name in list(nodes)}


@cache
def places():
    """Each module and package with the names that it binds or imports."""
    found = {}
    for path in FILES:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[name] = {
            alias.asname or alias.name for alias in ast.walk(tree(path)) if isinstance(alias, ast.alias)
        }
        found[name] |= {*attributes(tree(path))} | {
            node.name for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)
        }
    return found


def is_key(name):
    section, _, key = name.partition(".")
    return section in configuration.SECTIONS and key in {
        setting.name for setting in configuration.settings_of(section)
    }


def is_there(name):
    """Whether a dotted name is a key of thresher.toml, a module, or in a module or a class of the product."""
    first, *rest = name.split(".")
    if first in classes():
        return rest[0] in classes()[first]
    for cut in range(len(rest) + 1, 0, -1):
        place, inside = ".".join(name.split(".")[:cut]), name.split(".")[cut:]
        if place in places() and inside:
            return is_key(name) or (
                inside[0] in places()[place] and (len(inside) == 1 or is_there(".".join(inside)))
            )
        if place in places():
            return True
    return False


def named(path):
    """The dotted names in backticks that begin with a package or a class of the product."""
    found = NAME.findall(path.read_text(encoding="utf-8"))
    return {name for name in found if name.partition(".")[0] in {*PACKAGES, *classes()}} - {"thresher.toml"}


def test_the_docstrings_name_modules_and_methods():
    assert sum(len(named(path)) for path in FILES) > 200


@pytest.mark.parametrize(
    "name", ["frontier.nobody", "Frontier.nobody", "crawler.nobody", "core.url.Url.nobody"]
)
def test_what_is_not_there_is_noticed(name):
    assert not is_there(name)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name == "__init__.py"], ids=lambda path: path.parent.name
)
def test_every_name_that_a_package_says_of_its_own_modules_exists(path):
    """`link.connect` in the docstring of `frontier` is `frontier.link.connect`."""
    package = ".".join(path.parent.relative_to(ROOT).parts)
    inside = {
        name.removeprefix(f"{package}.").partition(".")[0]
        for name in places()
        if name.startswith(f"{package}.")
    }
    told = NAME.findall(ast.get_docstring(tree(path)) or "")
    assert {
        name for name in told if name.partition(".")[0] in inside and not is_there(f"{package}.{name}")
    } == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_in_backticks_exists(package):
    wrong = {
        (str(path.relative_to(ROOT)), name)
        for path in FILES
        if path.relative_to(ROOT).parts[0] == package
        for name in named(path)
        if not is_there(name)
    }
    assert wrong == set()
