"""The start of the program: `thresher`, and `python -m thresher`.

SIGINT and SIGTERM end the process with exit code 130 from the start, before any larger module is imported. As the
first process of a container, it also reaps processes that lost their parent (`pipeline.first_process`).
"""

import os
import signal

from thresher.pipeline import first_process

INTERRUPTED = 130
IMPORT_ENVIRONMENT = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # A process with one thread can be copied (`isolation.probe`).
    "OPENBLAS_NUM_THREADS": "1",  # NumPy would start a thread for each core. No command multiplies matrices.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # Pydantic would read the metadata of every installed package.
}
"""For libraries that do when they are imported what no command needs. A variable that the user has set stays."""


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
    from thresher.core.collector import collect_rarely  # noqa: PLC0415 - after the signal handlers are set

    collect_rarely()
    from thresher.pipeline.commands.app import main as command  # noqa: PLC0415 - after the signal handlers are set

    command()


if __name__ == "__main__":
    main()
