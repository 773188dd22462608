"""What a worker takes from its machine and reports to it: clocks (`boot_clock`), `system`, `heartbeat`, and `activity`.

A supervisor watches the `activity`.
"""
