"""`MemoryFrontier`: the frontier in one process, without a server.

It is the readable model of what the frontier promises: the same verbs, values and errors, told with plain
dictionaries and sorted lists. It remembers every URL exactly, keeps every queue in memory, and is gone with its
process. Its clock is an argument, so that a test of code that is written against the frontier says what time it is.
"""

from frontier.testing.frontier import MemoryFrontier

__all__ = ["MemoryFrontier"]
