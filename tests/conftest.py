"""Hypothesis for every test: the same examples each time, and no deadlines, for the machine may be busy.

`make test-slow` tries other examples, and more of them, with `--hypothesis-profile random`.
"""

import os
import signal
import sys
import threading

from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=500, print_blob=True)
settings.load_profile("same")

# The tests start hundreds of Python processes, and each would compile our modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Who starts the tests in the background of a shell has them, and every command they start, ignore Ctrl-C.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)
