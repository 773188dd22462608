"""What does not hold for now, and why. The suite shouts as soon as it does."""

FAILING: dict[str, str] = {}
FAILING_POLITE: dict[str, str] = {}
