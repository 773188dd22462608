"""What a user types: one module a group of commands. Entry point: `app.main`.

A command parses its options, calls one function of the pipeline, and prints what came of it (`results`, `pipeline.terminal`). It
imports what it needs when it runs, so `--help` and errors are there at once.
"""
