"""Fuzzers of everything that reads other people's bytes.

`python -m tests.fuzz` runs them for as long as one likes; `tests/fuzz/test_fuzz.py` for some seconds, and on what they
ever found (`corpus/`).
"""
