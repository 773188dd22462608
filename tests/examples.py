"""`few_examples`: a part of the examples of Hypothesis while one works, all of them where random ones are tried."""

from hypothesis import settings


def few_examples(few: int, *, of: int) -> int:
    """Return `few` in `make test`, which has the same examples each time, and `of` in `make test-slow`."""
    return few if settings.get_current_profile_name() == "same" else of
