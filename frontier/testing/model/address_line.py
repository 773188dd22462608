"""`acquire_address` and `restart_address_delay`: the delay of an IP address, and the line of callers that wait for it.
Pure, but for the addresses' own state.

1. Two callers that are let in are at least the delay apart.
2. A caller that must wait has a place in the line, one delay behind the place before. When its time has come, it goes
   before callers without a place. If a caller with an earlier place went late, it waits only for the delay after that
   one.
"""


def acquire_address(
    addresses: dict[str, tuple[int, int]], address: str, delay: int, slot: int, now: int
) -> int:
    """Return 0 if the address may be requested now, else the milliseconds to wait. `slot` is until when the host was
    held, 0 for not at all.
    """
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
    """Begin the delay of an address anew: it is requested only now, later than it was acquired."""
    last, end = addresses.get(address, (0, 0))
    addresses[address] = max(last, now + 1), end
