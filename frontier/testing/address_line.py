"""`enter` and `asked`: who may ask an IP address now, and the line of those who wait. Pure, but for the addresses' own state.

1. Two that are let in are at least the delay apart.
2. Who is told to wait has a place in the line, one delay behind the one before. When its time has come it goes before
   those who have no place; if another was late before it, it waits for that one alone.
"""


def acquire_address(
    addresses: dict[str, tuple[int, int]], address: str, delay: int, slot: int, now: int
) -> int:
    """0 where it may be asked now, else for how long to wait. `slot` is until when the host was held, 0 for not at all."""
    last, end = addresses.get(address, (0, 0))
    free = last == 0 or last + delay <= now
    if free and (end <= now or slot > 0):
        addresses[address] = now + 1, end
        return 0
    if slot > 0:
        return last + delay - now
    end = max(end, last, now - delay) + delay
    addresses[address] = last, end
    return end - now


def restart_address_delay(addresses: dict[str, tuple[int, int]], address: str, now: int) -> None:
    """It is asked only now, later than it was entered: its delay begins anew."""
    last, end = addresses.get(address, (0, 0))
    addresses[address] = max(last, now + 1), end
