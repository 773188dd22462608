"""Child processes, and the walls around those that read what strangers wrote.

A `WorkerProcess` (`worker_process`) is a child whose death is a value. A child that parses pages, PDFs and archives
calls `confine` (`confinement`) before it sees the first foreign byte: from then on it has no network, no files but
code, no way to start or to signal a process, and bounded memory. It holds no credential, because it was started with an
environment without any (`environment`). It receives its input through its pipe and sends its results back the same way.

The walls are the kernel's: Landlock (`filesystem`), seccomp (`syscalls`), and another user if we are root
(`privileges`). `probe` tries what a machine offers, and reports what it lacks.
"""

if __name__ != "thresher.isolation":
    raise ImportError("import thresher.isolation: `isolation` is its folder in a checkout")

from thresher.isolation.confinement import Confinement, ConfinementLimits, confine
from thresher.isolation.probe import probe_confinement
from thresher.isolation.worker_process import WorkerProcess

__all__ = ["Confinement", "ConfinementLimits", "WorkerProcess", "confine", "probe_confinement"]
