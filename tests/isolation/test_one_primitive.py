"""Child processes of workers have one primitive, `isolation.WorkerProcess`; other modules start no process of ours."""

import ast
from pathlib import Path

from tests.packages import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
STARTERS = {
    "isolation/worker_process.py": "the primitive",
    "pipeline/first_process.py": "the command itself, below the first process of a container",
    "isolation/probe.py": "a copy of this process, which tries what confinement the machine offers",
    "frontier/link/embedded.py": "the frontier's server, a program of others",
    "pipeline/terminal/markdown_output.py": "the user's own pager, which shows a guide in a terminal",
}
MODULES = frozenset({"subprocess", "multiprocessing", "concurrent.futures"})
CALLS = frozenset(
    {"fork", "forkpty", "posix_spawn", "system", "popen", "Popen", "ProcessPoolExecutor", "Process"}
)


def starts_processes(path):
    """Whether a module can start a process: it imports a module for that, or calls the system."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import) and MODULES & {alias.name for alias in node.names}:
            return True
        if (
            isinstance(node, ast.ImportFrom)
            and node.module in MODULES
            and CALLS & {a.name for a in node.names}
        ):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = getattr(node.func.value, "id", "")
            if owner in {"os", "asyncio"} and (
                node.func.attr in CALLS or "create_subprocess" in node.func.attr
            ):
                return True
    return False


def test_only_the_primitive_its_probe_and_the_embedded_server_start_processes():
    found = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if starts_processes(path)
    }
    assert found == STARTERS.keys()
