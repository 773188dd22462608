"""The judge step, which makes verdicts again from measurements and columns."""
