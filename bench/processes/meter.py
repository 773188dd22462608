"""Costs of a server process: CPU, memory and written bytes, from /proc. Standard library only."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Meter:
    """Measures named phases of work that one client gives to one server."""

    def __init__(self, pid: int) -> None:
        self._proc = Path("/proc") / str(pid)
        self.phases: dict[str, Phase] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator["Phase"]:
        """Add the costs of the block to a phase. The block adds its operations to `n` of the phase."""
        phase = self.phases.setdefault(name, Phase())
        wall, client, server, written = time.perf_counter(), time.process_time(), self.cpu_s(), self.written()
        try:
            yield phase
        finally:
            phase.server_s += self.cpu_s() - server
            phase.client_s += time.process_time() - client
            phase.wall_s += time.perf_counter() - wall
            phase.written += self.written() - written

    def cpu_s(self) -> float:
        """Return the CPU seconds of all threads so far, to the nanosecond, without children that rewrite files."""
        return sum(int(_read(task / "schedstat").split()[0]) for task in self._tasks()) / 1e9

    def rewriting_s(self) -> float:
        """Return the CPU seconds of children that have ended."""
        fields = _read(self._proc / "stat").rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def written(self) -> int:
        """Return the bytes that the process has written to files."""
        return int(_field(_read(self._proc / "io"), "write_bytes"))

    def rss(self) -> int:
        """Return the resident bytes now."""
        return 1024 * int(_field(_read(self._proc / "status"), "VmRSS").split()[0])

    def peak_rss(self) -> int:
        """Return the peak of the resident bytes."""
        return 1024 * int(_field(_read(self._proc / "status"), "VmHWM").split()[0])

    def report(self) -> dict[str, dict[str, float]]:
        """Return the costs of every phase, by name."""
        return {name: phase.report() for name, phase in self.phases.items()}

    def _tasks(self) -> list[Path]:
        return list((self._proc / "task").iterdir())


class Phase:
    """The costs of some operations together."""

    def __init__(self) -> None:
        self.n = 0
        self.server_s = 0.0
        self.client_s = 0.0
        self.wall_s = 0.0
        self.written = 0

    def report(self) -> dict[str, float]:
        """Return the costs per operation."""
        n = max(self.n, 1)
        return {
            "n": self.n,
            "server_us": round(1e6 * self.server_s / n, 2),
            "per_core_s": round(n / self.server_s) if self.server_s else 0,
            "client_us": round(1e6 * self.client_s / n, 1),
            "wall_s": round(self.wall_s, 1),
            "written_b": round(self.written / n),
        }


def _read(path: Path) -> str:
    return path.read_text()


def _field(text: str, name: str) -> str:
    return next(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith(f"{name}:"))
