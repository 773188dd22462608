"""`WatchedConsole`: a console beside a fleet whose components are killed, asked again and again whether it is truthful.

1. What it shows is held against what the web server saw, which knows of no frontier: never more fetched pages than
   were asked for by then.
2. Figures may be old. `lag` is the largest number of pages that were asked for `OLD_S` seconds before an answer and
   were not in it: those of killed workers, which are asked for again.
3. A console may say that it cannot read something. It may not end.
"""

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PERIOD_S = 3.0
OLD_S = 30.0
ANSWER_S = 20.0


@dataclass(kw_only=True)
class WatchedConsole:
    """One console, and what it said."""

    directory: Path
    port: int
    log: list[tuple[str, str, float]]
    """Requests that the web server got: host, path, time of the monotonic clock."""
    answers: Counter[str] = field(default_factory=Counter)
    ahead: int = 0
    """Fetched pages that it showed and nobody had asked for."""
    lag: int = 0
    longest_silence_s: float = 0.0
    slowest_answer_s: float = 0.0
    _process: subprocess.Popen[bytes] | None = None
    _thread: threading.Thread | None = None
    _ending: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start the console, and ask it from a thread."""
        with (self.directory / "console.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "thresher", "serve", "--port", str(self.port)],
                cwd=self.directory,
                stdout=log,
                stderr=log,
            )
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def settled_view(self, is_settled: Callable[[dict[str, Any]], bool], timeout_s: float) -> dict[str, Any]:
        """Return the view of the crawl once it is as wanted, or the last one if that takes too long."""
        deadline = time.monotonic() + timeout_s
        while True:
            view = self._ask() or {}
            if is_settled(view) or time.monotonic() > deadline:
                return view
            time.sleep(0.5)

    def stop(self) -> bool:
        """End the console. Return whether it ran until now."""
        self._ending.set()
        if self._process is None or self._thread is None:
            return False
        self._thread.join()
        is_alive = self._process.poll() is None
        self._process.terminate()
        self._process.wait(60)
        return is_alive

    def _watch(self) -> None:
        heard_at = time.monotonic()
        while not self._ending.wait(PERIOD_S):
            began = time.monotonic()
            view = self._ask()
            ended = time.monotonic()
            if view is None:
                self.longest_silence_s = max(self.longest_silence_s, ended - heard_at)
                continue
            heard_at = ended
            self.slowest_answer_s = max(self.slowest_answer_s, ended - began)
            fetched = view["outcomes"].get("fetched", 0)
            asked, asked_long_ago = self._asked(ended), self._asked(began - OLD_S)
            self.ahead = max(self.ahead, fetched - asked)
            self.lag = max(self.lag, asked_long_ago - fetched)

    def _ask(self) -> dict[str, Any] | None:
        address = f"http://127.0.0.1:{self.port}/api/crawls/main"
        try:
            with urllib.request.urlopen(address, timeout=ANSWER_S) as answer:
                view: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            self.answers[str(error.code)] += 1
            return None
        except OSError as error:
            self.answers[type(error).__name__] += 1
            return None
        if view["health"] == "lost":
            self.answers["lost"] += 1
            return None
        self.answers["200"] += 1
        return view

    def _asked(self, until: float) -> int:
        """Return how many different pages were asked for until a time."""
        return len(
            {(host, path) for host, path, at in list(self.log) if at <= until and path != "/robots.txt"}
        )
