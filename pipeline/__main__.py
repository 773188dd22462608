"""The start of the program: `thresher`, and `python -m pipeline`.

SIGINT and SIGTERM end the process with exit code 130 from the start, before any larger module is imported. As the
first process of a container, it also reaps processes that lost their parent (`pipeline.first_process`).
"""

import os
import signal

from pipeline import first_process

INTERRUPTED = 130


def main() -> None:
    """Run the command that the user typed."""
    if first_process.is_first():
        first_process.run(_run)
    _run()


def _run() -> None:
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: os._exit(INTERRUPTED))
    # Pydantic would read the metadata of every installed package to find plugins. The configuration uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from pipeline.commands.app import main as command  # noqa: PLC0415 - after the signal handlers are set

    command()


if __name__ == "__main__":
    main()
