"""Hypothesis for every test: no deadlines, for the machine may be busy; in CI the same examples each time."""

import os
import signal
import threading

from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Who starts the tests in the background of a shell has them, and every command they start, ignore Ctrl-C.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)
