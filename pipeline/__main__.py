"""`thresher`, and `python -m pipeline`: where the program begins.

Signals mean an end with exit code 130 from the first moment on, before anything larger is imported.
"""

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Run the command that was typed."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: os._exit(INTERRUPTED))
    from pipeline.commands.app import main as command  # noqa: PLC0415 - only now

    command()


if __name__ == "__main__":
    main()
