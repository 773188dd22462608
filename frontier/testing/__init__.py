"""`MemoryFrontier`: the frontier in one process, without a server.

It is the readable model of the frontier's promises: the same clients, verbs, values and errors, on plain dictionaries
and sorted lists. It remembers every URL exactly, keeps every queue in memory, and ends with its process. Its clock is
an argument, so a test of code that uses the frontier decides what time it is.
"""

from thresher.frontier.testing.memory_frontier import MemoryFrontier

__all__ = ["MemoryFrontier"]
