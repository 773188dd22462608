"""Load a model in a process of its own to see whether that works: a broken file may crash the library that loads it."""

from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from thresher.isolation import WorkerProcess


def check_model(path: Path, load: Callable[[bytes], object]) -> None:
    """Raise `ValueError` if `load`, a function of a module, does not take the bytes of the file."""
    process = WorkerProcess(_load, path, load, is_confined=False)
    try:
        problem = process.pipe.recv_bytes().decode()
    except (EOFError, OSError):
        problem = f"it crashes the library that loads it (exit code {process.wait()}); get the file again"
    finally:
        process.close()
    if problem:
        raise ValueError(problem)


def _load(pipe: Connection, path: Path, load: Callable[[bytes], object]) -> None:
    problem = ""
    try:
        load(path.read_bytes())
    except (OSError, ValueError) as error:
        problem = str(error)
    except MemoryError:
        problem = "it does not fit into memory"
    pipe.send_bytes(problem.encode())
