"""Chromium: its program, its processes, its directory, and the page inside it."""
