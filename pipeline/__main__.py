"""The start of the program: `thresher`, and `python -m pipeline`.

SIGINT and SIGTERM end the process with exit code 130 from the start, before any larger module is imported. As the
first process of a container, it also reaps processes that lost their parent (`pipeline.first_process`).
"""

import atexit
import gc
import os
import signal

from pipeline import first_process

INTERRUPTED = 130
IMPORT_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # NumPy would start a thread for each core. No command multiplies matrices.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # Pydantic would read the metadata of every installed package.
}
"""For libraries that do when they are imported what no command needs. A variable that the user has set stays."""
COLLECTION_THRESHOLD = 20_000
"""New objects that start a collection of garbage, instead of 700. An import makes many objects and no garbage."""


def main() -> None:
    """Run the command that the user typed."""
    if first_process.is_first():
        first_process.run(_run)
    _run()


def _run() -> None:
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: os._exit(INTERRUPTED))
    for name, value in IMPORT_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(COLLECTION_THRESHOLD, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # the interpreter would visit every object several times before it ends
    from pipeline.commands.app import main as command  # noqa: PLC0415 - after the signal handlers are set

    command()


if __name__ == "__main__":
    main()
