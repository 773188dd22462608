"""Models that look at a text: its language."""
