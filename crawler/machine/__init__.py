"""What a worker takes from the machine that it runs on, and what it tells it: clocks (`boot_clock`), `system`, `heartbeat`,
and the `activity` that a supervisor watches.
"""
