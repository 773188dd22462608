"""When to ask a failing server again: pure decisions, with the time and the chance as arguments.

1. A pause is drawn between nothing and a ceiling that doubles with every failure of the request (full jitter:
   "Exponential Backoff And Jitter", AWS Architecture Blog, 2015), and is never shorter than the server asked.
2. After `trip` failures in a row, of whatever requests, nobody asks but one probe at a time, after a pause.
3. One answer, a refusal too, ends the trouble for all.
4. Who has been in trouble for `total_ms` gives up.
"""

from dataclasses import dataclass, replace

POLL_MS = 100
"""How soon those ask again who wait for the outcome of another's probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long to bear with a server. All times in milliseconds."""

    total_ms: int = 300_000
    """From the first failure of a request, or its first wait for others', until it gives up."""
    first_ms: int = 100
    """Ceiling of the first pause."""
    longest_ms: int = 10_000
    """Ceiling of all pauses, but for those that the server asks for."""
    trip: int = 5
    """Failures in a row after which only probes go out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """What one process knows of one server's health."""

    failures: int = 0
    """In a row, over all requests."""
    since_ms: int | None = None
    """When the first of them happened."""
    probe_at_ms: int | None = None
    """When the next probe may go; None: everybody may ask."""
    probing: bool = False
    """Whether a probe is out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A request may go now, where `wait_ms` is 0, else ask again then."""

    wait_ms: int = 0
    probe: bool = False


def pause_ms(patience: RetryPolicy, failures: int, chance: float, at_least_ms: int = 0) -> int:
    """How long a request waits after so many failures of its own. `chance` lies in [0, 1)."""
    return max(at_least_ms, int(chance * _ceiling_ms(patience, failures)))


def remaining_ms(patience: RetryPolicy, since_ms: int | None, now_ms: int) -> int:
    """How long one that is in trouble since then may still wait; 0: it gives up."""
    return patience.total_ms if since_ms is None else max(0, since_ms + patience.total_ms - now_ms)


def admit(circuit: Circuit, now_ms: int) -> tuple[Circuit, Admission]:
    """Whether a request may go now. What is admitted is to end in `record_answer`, `record_failure` or `record_cancellation`."""
    if circuit.probe_at_ms is None:
        return circuit, Admission()
    if circuit.probing:
        return circuit, Admission(wait_ms=POLL_MS)
    if now_ms < circuit.probe_at_ms:
        return circuit, Admission(wait_ms=circuit.probe_at_ms - now_ms)
    return replace(circuit, probing=True), Admission(probe=True)


def record_answer(circuit: Circuit) -> Circuit:
    """The server said something definite, whatever it was and whoever was asking."""
    return circuit if circuit == _SOUND else _SOUND


def record_failure(
    circuit: Circuit,
    patience: RetryPolicy,
    turn: Admission,
    now_ms: int,
    *,
    chance: float,
    at_least_ms: int = 0,
) -> Circuit:
    """A request that was admitted by `turn` has failed; `at_least_ms` is what the server asked to wait."""
    failures = circuit.failures + 1
    known = replace(
        circuit, failures=failures, since_ms=now_ms if circuit.since_ms is None else circuit.since_ms
    )
    if failures < patience.trip or (circuit.probe_at_ms is not None and not turn.probe):
        return known  # still sound, or a straggler that went out before the trip
    # Half of the ceiling is fixed, lest a lucky draw sends one probe after the other.
    ceiling = _ceiling_ms(patience, failures - patience.trip + 1)
    pause = max(at_least_ms, (ceiling + int(chance * ceiling)) // 2)
    return replace(known, probe_at_ms=now_ms + pause, probing=False)


def record_cancellation(circuit: Circuit, turn: Admission) -> Circuit:
    """A request that was admitted by `turn` was called off; it proved nothing."""
    return replace(circuit, probing=False) if turn.probe else circuit


_SOUND = Circuit()


def _ceiling_ms(patience: RetryPolicy, failures: int) -> int:
    doublings = min(failures - 1, 30)  # beyond all patience; keeps the number small
    return min(patience.longest_ms, patience.first_ms << doublings)
