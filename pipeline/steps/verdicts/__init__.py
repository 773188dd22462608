"""Sets of verdicts: those that `process` made, and those that `judge` made of the same measurements."""
