"""Every name in backticks, in a docstring or a comment, exists: in the code, in its data, or in another program.

1. A dotted name of a package of ours is a module, a name in one, or a key of thresher.toml.
2. `Class.member` is a member of that class, if the class is ours.
3. A docstring that begins with a name and a colon stands in the module that defines the name.
4. Every other name occurs in some code or data, or is one of `FOREIGN`.
"""

import ast
import builtins
import enum
import importlib
import io
import keyword
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from tests.packages import PACKAGES
from thresher.pipeline import configuration

ROOT = Path(__file__).resolve().parents[2]
OURS = frozenset({*PACKAGES, "bench", "demo"})
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")
WORD = re.compile(r"[A-Za-z_]\w*")
FILES = frozenset({"thresher.toml", "storage.json"})
FOREIGN = frozenset(
    {
        *("HTTP_PROXY", "EX_OSERR", "acdirmax", "no_new_privs"),  # of the system
        *("lookups", "resolvconf_path"),  # parameters of pycares
        *("XHR", "zygote_host_impl_linux.cc"),  # of Chromium
        *("bloom", "process_exception", "startproject"),  # of crawlee, and of Scrapy
        *("AdaptiveFetchSchedule", "pathloop"),  # of Nutch, and of BUbiNG
        *("PathologicalPathDecideRule", "TooManyPathSegmentsDecideRule"),  # of Heritrix
        *("apply_chat_template", "CrossEntropyLoss"),  # of transformers, and of PyTorch
        "pydantic_core.core_schema.no_info_after_validator_function",
        *("Haus", "wp", "YYYYMMDDhhmmss"),  # words of examples
    }
)
ENUM = frozenset(dir(enum.Enum)) | frozenset(dir(str)) | frozenset(dir(int))


def listed():
    """The files of the repository, new ones included."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a checkout of git")
    return [name for name in names if (ROOT / name).is_file()]


def targets(node):
    """The names that an assignment gives a value."""
    for each in node.targets if isinstance(node, ast.Assign) else [node.target]:
        for part in ast.walk(each):
            if isinstance(part, ast.Name):
                yield part.id
            elif isinstance(part, ast.Attribute):
                yield part.attr


def defined(body):
    """The names that a list of statements defines."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from targets(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from defined([*node.body, *getattr(node, "orelse", ())])


class CodeBase:
    """What the repository defines, and what its docstrings and comments say."""

    def __init__(self, names):
        self.modules, self.members, self.bases = {}, defaultdict(set), defaultdict(set)
        self.words = {*dir(builtins), *keyword.kwlist, *sys.stdlib_module_names}
        self.texts, self.heads = [], []
        for name in names:
            self.words.update(WORD.findall(name))
            if name.endswith(".py"):
                self._add_module(name)
            elif not name.endswith(".md"):
                self.words.update(WORD.findall((ROOT / name).read_text(errors="replace")))

    def _add_module(self, name):
        source = (ROOT / name).read_text()
        tree = ast.parse(source)
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.modules[module] = set(defined(tree.body))
        docstrings = set()
        for node in ast.walk(tree):
            for statement in (
                getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ()
            ):
                value = getattr(statement, "value", None)
                if (
                    isinstance(statement, ast.Expr)
                    and isinstance(value, ast.Constant)
                    and isinstance(value.value, str)
                ):
                    docstrings.add(value)
                    self.texts.append((f"{name}:{statement.lineno}", value.value))
            if isinstance(node, ast.ClassDef):
                self._add_class(node)
        for node in ast.walk(tree):
            self._add_words(node, docstrings)
        if head := re.match(r"`(\w+)`:", ast.get_docstring(tree) or ""):
            self.heads.append((name, module, head[1]))
        if re.search(r"#.*`", source):
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.type == tokenize.COMMENT:
                    self.texts.append((f"{name}:{token.start[0]}", token.string))

    def _add_class(self, node):
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.members[node.name].add(inner.name)
            elif isinstance(inner, ast.Assign | ast.AnnAssign):
                self.members[node.name].update(targets(inner))
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            self.bases[node.name].add(
                plain.attr if isinstance(plain, ast.Attribute) else getattr(plain, "id", "")
            )

    def _add_words(self, node, docstrings):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            self.words.update(WORD.findall(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            self.words.update(WORD.findall(node.value.decode("latin-1")))
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            if isinstance(word := getattr(node, field, None), str):
                self.words.update(word.split("."))

    def has_member(self, owner, name):
        """Whether a class has a member; true for a class of others."""
        if owner not in self.members:
            return owner not in {"", "object", "Protocol", "Generic"}
        return (
            name in self.members[owner]
            or name in dir(object)
            or (any(base.endswith("Enum") for base in self.bases[owner]) and name in ENUM)
            or any(self.has_member(base, name) for base in self.bases[owner] - {owner})
        )

    def has(self, name):
        """Whether a name in backticks exists."""
        first, *rest = parts = name.removesuffix("()").removeprefix("thresher.").split(".")
        if name in FOREIGN | FILES:
            return True
        if first in OURS and rest:
            return self._has_path(parts)
        if first in sys.stdlib_module_names and rest and first not in self.modules:
            with suppress(ImportError):
                if hasattr(importlib.import_module(".".join(parts[:-1])), rest[-1]):
                    return True
        owners = pairwise(parts)
        return all(self.has_member(*pair) for pair in owners if pair[0] in self.members) and all(
            part in self.words for part in parts
        )

    def _has_path(self, parts):
        for cut in range(len(parts), 0, -1):
            module, rest = ".".join(parts[:cut]), parts[cut:]
            if module not in self.modules:
                continue
            if not rest or (
                rest[0] in self.modules[module] and all(self.has_member(*pair) for pair in pairwise(rest))
            ):
                return True
        section, key, *_ = parts
        return section in configuration.SECTIONS and key in {
            setting.name for setting in configuration.settings_of(section)
        }


@pytest.fixture(scope="module")
def code():
    return CodeBase(listed())


def named(code):
    """Each name in backticks, and where it stands."""
    for place, text in code.texts:
        for span in SPAN.finditer(text):
            if NAME.fullmatch(span[1]):
                yield place, span[1]


def test_every_name_in_backticks_exists(code):
    assert [f"{place}: {name}" for place, name in named(code) if not code.has(name)] == []


def test_a_module_defines_the_name_that_its_docstring_begins_with(code):
    wrong = [
        f"{name}: {head}"
        for name, module, head in code.heads
        if head not in code.modules[module] and head != module.rpartition(".")[2]
    ]
    assert wrong == []


def test_no_foreign_name_is_listed_in_vain(code):
    assert FOREIGN - {name for _, name in named(code)} == set()


@pytest.mark.parametrize(
    "name",
    [
        "crawler.nobody",
        "thresher.crawler.page_process.Nobody",
        "crawler.nokey",
        "Lease.nothing",
        "NoSuchName",
        "no_such_name()",
    ],
)
def test_a_name_that_is_gone_is_noticed(code, name):
    words, code.words = code.words, code.words - {"nobody", "Nobody", "NoSuchName", "no_such_name"}
    try:
        assert not code.has(name)
    finally:
        code.words = words


@pytest.mark.parametrize(
    "name",
    [
        "thresher.crawler.page_process",
        "isolation.WorkerProcess.close",
        "crawler.min_delay",
        "Lease.url",
        "os.replace",
    ],
)
def test_a_name_that_is_there_is_found(code, name):
    assert code.has(name)
