"""When to send a request to a failing server again: pure decisions, with the time and the random number as arguments.

1. A pause is drawn between zero and a ceiling that doubles with every failure of the request (full jitter: "Exponential
   Backoff And Jitter", AWS Architecture Blog, 2015). It is never shorter than the server asked for.
2. After `trip` failures in a row, of any requests, only one probe at a time goes out, each after a pause.
3. One answer, even a refusal, ends the outage for all requests.
4. A request that has failed for `total_ms` gives up.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime

POLL_MS = 100
"""How soon a request that waits for another's probe asks for admission again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long to retry, and with which pauses. All times are in milliseconds."""

    total_ms: int = 300_000
    """The time until a request gives up, from its first failure or from its first wait for the failures of others."""
    first_ms: int = 100
    """Ceiling of the first pause."""
    longest_ms: int = 10_000
    """Ceiling of all pauses, except those that the server asks for."""
    trip: int = 5
    """Failures in a row after which only probes go out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """What one process knows of one server's health."""

    failures: int = 0
    """Failures in a row, over all requests."""
    since_ms: int | None = None
    """When the first of them happened."""
    probe_at_ms: int | None = None
    """When the next probe may go out; None if every request may go."""
    probing: bool = False
    """Whether a probe is on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The permission to send, if `wait_ms` is 0; otherwise how long to wait before asking again."""

    wait_ms: int = 0
    probe: bool = False


def pause_ms(policy: RetryPolicy, failures: int, chance: float, at_least_ms: int = 0) -> int:
    """Return how long a request waits after `failures` failures of its own. `chance` is a random number in [0, 1)."""
    return max(at_least_ms, int(chance * _ceiling_ms(policy, failures)))


def remaining_ms(policy: RetryPolicy, since_ms: int | None, now_ms: int) -> int:
    """Return how long a request whose failures began at `since_ms` may still be retried; 0 means that it gives up."""
    return policy.total_ms if since_ms is None else max(0, since_ms + policy.total_ms - now_ms)


def admit(circuit: Circuit, now_ms: int) -> tuple[Circuit, Admission]:
    """Return whether a request may go out now, with the new state. Every admitted request must end in `record_answer`,
    `record_failure` or `record_cancellation`.
    """
    if circuit.probe_at_ms is None:
        return circuit, Admission()
    if circuit.probing:
        return circuit, Admission(wait_ms=POLL_MS)
    if now_ms < circuit.probe_at_ms:
        return circuit, Admission(wait_ms=circuit.probe_at_ms - now_ms)
    return replace(circuit, probing=True), Admission(probe=True)


def record_answer(circuit: Circuit) -> Circuit:
    """Return the state after the server sent a definite answer, even a refusal, to any request."""
    return circuit if circuit == _HEALTHY else _HEALTHY


def record_failure(
    circuit: Circuit,
    policy: RetryPolicy,
    admission: Admission,
    now_ms: int,
    *,
    chance: float,
    at_least_ms: int = 0,
) -> Circuit:
    """Return the state after the failure of a request that `admission` admitted. `at_least_ms` is the pause that the
    server asked for.
    """
    failures = circuit.failures + 1
    known = replace(
        circuit, failures=failures, since_ms=now_ms if circuit.since_ms is None else circuit.since_ms
    )
    if failures < policy.trip or (circuit.probe_at_ms is not None and not admission.probe):
        return known  # the circuit has not tripped, or the request went out before it tripped
    # Half of the ceiling is fixed: a low random number must not send one probe right after the other.
    ceiling = _ceiling_ms(policy, failures - policy.trip + 1)
    pause = max(at_least_ms, (ceiling + int(chance * ceiling)) // 2)
    return replace(known, probe_at_ms=now_ms + pause, probing=False)


def record_cancellation(circuit: Circuit, admission: Admission) -> Circuit:
    """Return the state after the cancellation of a request that `admission` admitted: it proved nothing."""
    return replace(circuit, probing=False) if admission.probe else circuit


_HEALTHY = Circuit()


def _ceiling_ms(policy: RetryPolicy, failures: int) -> int:
    doublings = min(failures - 1, 30)  # 2^30 pauses are beyond every policy; the bound keeps the number small
    return min(policy.longest_ms, policy.first_ms << doublings)


def retry_after_ms(headers: Mapping[str, str]) -> int:
    """Return the pause of a Retry-After header (RFC 9110, section 10.2.3): seconds, or a date, which is compared with
    the server's own clock; 0 if neither is given. Names of headers are in lower case.
    """
    after = headers.get("retry-after", "")
    if after.isascii() and after.isdigit():
        return int(after[:9]) * 1000
    try:
        wait = parsedate_to_datetime(after) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):
        return 0
    return max(0, int(wait.total_seconds() * 1000))


def monotonic_ms() -> int:
    """Return milliseconds of a clock that nobody sets."""
    return time.monotonic_ns() // 1_000_000
