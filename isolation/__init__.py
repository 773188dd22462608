"""Child processes, and the walls around those that read what strangers wrote.

A `WorkerProcess` (`worker`) is a child whose death is a value. One that parses pages, PDFs and archives calls `confine`
(`confinement`) before it sees the first foreign byte: from then on it has no network, no files but code, no way to start or to
signal a process, and bounded memory. It holds no credential, for it was started with an environment that has none
(`environment`). What it needs it is sent through its pipe, and what it makes it sends back.

The walls are the kernel's: Landlock (`paths`), seccomp (`syscalls`), another user where we are root (`user`). What a machine
does not offer is found out by trying (`probe`), and said.
"""

from isolation.confinement import Confinement, ConfinementLimits, confine
from isolation.probe import probe_confinement
from isolation.worker_process import WorkerProcess

__all__ = ["Confinement", "ConfinementLimits", "WorkerProcess", "confine", "probe_confinement"]
