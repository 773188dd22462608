"""Checks that do not hold for now, and why. The suite fails as soon as one holds."""

FAILING: dict[str, str] = {}
FAILING_POLITE: dict[str, str] = {}
