"""The start of the program: `thresher`, and `python -m pipeline`.

SIGINT and SIGTERM end the process with exit code 130 from the start, before any larger module is imported.
"""

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Run the command that the user typed."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: os._exit(INTERRUPTED))
    from pipeline.commands.app import main as command  # noqa: PLC0415 - after the signal handlers are set

    command()


if __name__ == "__main__":
    main()
