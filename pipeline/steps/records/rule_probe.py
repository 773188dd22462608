"""Refuse a user's rule that cannot run within the walls, before anything is processed.

A rule runs in a confined worker: it may open no file but code, start no thread and use no network. A rule that loads a
model would be found out by every part, in quarantine. So each rule is made and called once here, in a worker process
that is confined as those of `process` are, on a text that no stranger wrote.
"""

import json
from collections.abc import Sequence
from multiprocessing.connection import Connection

from thresher.core import InputError
from thresher.isolation import ConfinementLimits, WorkerProcess, confine
from thresher.pipeline.engine.local.machine_memory import machine_memory

PROBE_TIMEOUT_S = 120.0
"""Imports of a large library take some ten seconds on a busy machine."""
WALL_ERRORS = (OSError, ImportError, RuntimeError)
"""What a wall raises: for a file, for a library that opens one, and for a thread. Anything else may be the text's
fault.
"""
PROBE_TEXT = "\n".join(
    f"This is sentence number {number} of a text about the weather at the coast, and it has some more words to read."
    for number in range(20)
)
REMEDY = (
    "rules run in workers without files, threads and network; do this in a function of `thresher annotate`, and use "
    "its values (`thresher help annotate`)"
)


def require_confinable(entries: Sequence[str]) -> None:
    """Raise `InputError` if a rule of the user, as `filters.rules` names it, fails within the walls. Rules of Thresher
    are not tried.
    """
    own = [entry for entry in entries if ":" in _spec(entry)]
    if not own:
        return
    process = WorkerProcess(_try_rules, own, machine_memory(), is_confined=True)
    try:
        with process.within(PROBE_TIMEOUT_S):
            failed, reason = json.loads(process.pipe.recv_bytes())
    except (EOFError, OSError):
        failed, reason = ", ".join(map(_spec, own)), f"it ends its process (exit code {process.close()})"
    finally:
        process.close()
    if failed:
        raise InputError(f"filters.rules: {failed}: {reason}; {REMEDY}")


def _try_rules(pipe: Connection, entries: Sequence[str], memory: int) -> None:
    """Send the name of the first rule that fails and why; two empty texts if none does."""
    from thresher.filters.rules.chosen_rules import chosen_rules  # noqa: PLC0415 - as a worker has it before it is confined
    from thresher.filters.text import AnalyzedText  # noqa: PLC0415 - see above

    confine(ConfinementLimits(memory_bytes=memory))
    for entry in entries:
        try:
            (rule,) = chosen_rules((), [entry])
        except Exception as error:  # noqa: BLE001 - without the walls the rule was made, so a wall is the reason
            pipe.send_bytes(
                json.dumps([_spec(entry), f"it cannot be made there: {_described(error)}"]).encode()
            )
            return
        try:
            rule(AnalyzedText(text=PROBE_TEXT, language="en", language_score=1.0))
        except WALL_ERRORS as error:
            pipe.send_bytes(json.dumps([_spec(entry), f"it fails there: {_described(error)}"]).encode())
            return
        except Exception:  # noqa: BLE001, S112 - it may be the text's fault; `process` counts it for each record
            continue
    pipe.send_bytes(json.dumps(["", ""]).encode())


def _spec(entry: str) -> str:
    return str(json.loads(entry)["rule"]) if entry.startswith("{") else entry


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
