FAILING: dict[str, str] = {}
FAILING_POLITE: dict[str, str] = {}
FAILING_REVISIT: dict[str, str] = {}
