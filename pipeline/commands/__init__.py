"""The command line: one module for each group of commands. The entry point is `app.main`.

A command parses its options, calls one function of the pipeline, and prints the result (`results`,
`pipeline.terminal`). It imports modules when it runs, because `--help` and errors must appear at once.
"""
