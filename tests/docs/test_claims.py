"""What the pages under docs/, README and bench/ name is there: commands, options, keys, modules, files, places."""

import ast
import importlib
import re
import shlex
from itertools import groupby
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from tests.packages import LINKS
from thresher.pipeline import configuration
from thresher.pipeline.commands.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("bench/**/*.md"),
        *ROOT.glob("deploy/**/*.md"),
    ]
)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SHELL = {"", "sh", "bash"}
PLACEHOLDER = re.compile(r"[A-Z]")
"""Stands for a number or a name: `--workers N`."""
NAME = re.compile(rf"(?:{'|'.join(LINKS)}|project|ingest|dedup)(?:\.\w+)+")
PATH = re.compile(
    r"(?:\.\./)*(?:docs|bench|tests|deploy|demo|examples|\w+)/[\w./-]+\.(?:py|lua|md|toml|lock|yml|yaml|service)"
)
COMMAND = typer.main.get_command(app)
ACTING = {"--install-completion", "--show-completion"} & {
    name for parameter in COMMAND.params for name in parameter.opts
}
"""Options that act while they are parsed: the first changes the files of the user's shell."""
PLANNED = {"fleet", "serve"} - set(COMMAND.commands if isinstance(COMMAND, TyperGroup) else ())
"""Commands that pages describe before they are there."""


def named(page):
    return str(page.relative_to(ROOT))


def prose(page):
    """The page without its fenced blocks."""
    return FENCED.sub("", page.read_text())


def spans(page):
    """What stands between backticks, on one line."""
    return [" ".join(span.split()) for span in CODE.findall(prose(page))]


def blocks(page):
    """The lines of the shell that the page shows."""
    for kind, block in FENCED.findall(page.read_text()):
        if kind in SHELL:
            yield from block.replace("\\\n", " ").splitlines()


def calls(line):
    """The words behind each `thresher` of a line of a shell."""
    line = line.removeprefix("$ ").replace("…", "...")
    if not re.match(r"(\S*/)?thresher ", line):
        return
    reader = shlex.shlex(re.sub(r"[\[\]]", "", line), posix=True, punctuation_chars=";&|<>")
    reader.whitespace_split = True
    for is_operator, words in groupby(reader, key=lambda word: set(word) <= set(";&|<>")):
        program, *rest = words
        if not is_operator and program.endswith("thresher"):
            yield [word for word in rest if word != "..."]


def parse(command, words):
    """Parse as the command line does; nothing is run. Raises `TyperException`."""
    with command.make_context("thresher", list(words)) as context:
        if isinstance(command, TyperGroup):
            _, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            parse(found, rest)


TYPED = [(named(page), words) for page in PAGES for line in blocks(page) for words in calls(line)]
MENTIONED = [(named(page), words) for page in PAGES for line in spans(page) for words in calls(line)]


def label(value):
    return value if isinstance(value, str) else " ".join(value)


def fault(words):
    """What the command line says, if it refuses the words; parsed in an empty directory."""
    if set(words) & ACTING:
        return None
    try:
        parse(COMMAND, [(PLACEHOLDER.fullmatch(word) and "1") or word for word in words])
    except typer.Exit:  # --help, --version
        return None
    except TyperException as error:
        return error
    return None


@pytest.mark.parametrize(("page", "words"), TYPED, ids=label)
def test_every_command_that_a_page_shows_can_be_typed(page, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if words[0] in PLANNED:
        return
    error = fault(words)
    assert error is None, f"{page}: thresher {shlex.join(words)}: {error.format_message()}"


@pytest.mark.parametrize(("page", "words"), MENTIONED, ids=label)
def test_every_command_that_a_sentence_names_exists(page, words, tmp_path, monkeypatch):
    """It may leave out arguments, or the value of its last option."""
    monkeypatch.chdir(tmp_path)
    if words[0] in PLANNED:
        return
    error = fault(words)
    left_out = type(error).__name__ == "MissingParameter" or "requires an argument" in str(error)
    assert error is None or left_out, f"{page}: thresher {shlex.join(words)}: {error.format_message()}"


def test_the_pages_have_commands():
    assert len(TYPED) > 50
    assert len(MENTIONED) > 50


@pytest.mark.parametrize(
    "words", ["nobody", "crawl x --nobody", "crawl x --workers many", "frontier nobody", "seed", "status x y"]
)
def test_what_cannot_be_typed_is_told(words):
    assert fault(words.split()) is not None


def is_there(name):
    """Whether it is a key of thresher.toml, a module, or an attribute of one."""
    first, _, rest = name.partition(".")
    if first in configuration.SECTIONS and rest.partition(".")[0] in {
        setting.name for setting in configuration.settings_of(first)
    }:
        return True
    parts = ["thresher", *name.split(".")] if first in LINKS else name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_key_and_module_that_a_page_names_exists(page):
    wrong = {
        span for span in spans(page) if NAME.fullmatch(span) and not is_there(span) and span != "storage.json"
    }
    assert wrong == set()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_file_of_the_repository_that_a_page_names_exists(page):
    """A test may be named without its folder, behind another one."""
    tests = {path.name for path in ROOT.glob("tests/**/*.py")}
    told = [word for span in spans(page) for word in span.split()]
    told += [
        word for kind, block in FENCED.findall(page.read_text()) if kind in SHELL for word in block.split()
    ]
    wrong = {
        word
        for word in told
        if (re.fullmatch(r"test_\w+\.py", word) and word not in tests)
        or (PATH.fullmatch(word) and (ROOT / word.split("/")[0]).is_dir() and not (ROOT / word).exists())
    }
    assert wrong == set()


def places(page):
    """The anchors of a page."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_of_a_page_leads_somewhere(page):
    wrong = set()
    for link in LINK.findall(prose(page)):
        if re.match(r"\w+:", link):
            continue
        path, _, place = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (place and place not in places(target)):
            wrong.add(link)
    assert wrong == set()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_of_python_can_be_compiled(page):
    for kind, block in FENCED.findall(page.read_text()):
        if kind == "python":
            ast.parse(block)
