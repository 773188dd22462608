FAILING: dict[str, str] = {}
