"""How steps run. Entry point: `run_step.run`.

A `step.Step` falls into parts. `run_step` makes those that are not sealed, on the worker pool of this machine (`local`) or of a Ray cluster
(`ray`), and seals each with its Manifest. `task` is one part as it travels, `part_store` and `messages` are how its process reaches storage,
`quarantine` keeps what cannot be made.
"""
