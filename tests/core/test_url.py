"""A `Url` has the key of its records; and what `core` may import."""

import ast
import sys
from pathlib import Path

from thresher import core
from thresher.core import Url
from thresher.core.surt import surt


def test_a_url_has_the_key_of_its_records_which_have_the_form_that_was_requested():
    url = Url(text="http://example.org/?a=1&b=2", wire="http://www.example.org/?b=2&a=1&", host="", origin="")
    assert url.surt == surt(url.wire) == "org,example)/?&a=1&b=2"


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
                assert name.startswith("thresher.core") or name.split(".")[0] in allowed, (
                    f"{module.name} imports {name}"
                )
