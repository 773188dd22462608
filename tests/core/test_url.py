"""The SURT of a URL is the key that CDXJ indexes sort by."""

import ast
import sys
from pathlib import Path

import pytest

import core
from core import Url


def url(text, host):
    return Url(text=text, wire=text, host=host, origin="")


@pytest.mark.parametrize(
    ("text", "host", "surt"),
    [
        ("http://www.example.com/A?b=1", "www.example.com", "com,example)/a?b=1"),
        ("https://docs.example.co.uk/", "docs.example.co.uk", "uk,co,example,docs)/"),
        ("http://127.0.0.1:8080/x", "127.0.0.1", "127.0.0.1:8080)/x"),
        ("http://[::1]/", "[::1]", "[::1])/"),
    ],
)
def test_surt(text, host, surt):
    assert url(text, host).surt == surt


def test_core_needs_nothing_but_the_standard_library_and_does_no_io():
    allowed = {
        name for name in sys.stdlib_module_names if name not in {"os", "socket", "asyncio", "pathlib", "io"}
    }
    for module in Path(core.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in allowed | {"core"}, f"{module.name} imports {name}"
