"""How steps run. The entry point is `run_step.run_step`.

A `step.Step` falls into parts. `run_step` makes the parts that are not sealed, on the worker pool of this machine
(`local`) or of a Ray cluster (`ray`), and seals each with its Manifest. `task` is one part as it travels. `part_store`
and `messages` connect its process with the storage. `quarantine` keeps the parts that cannot be made. `working_stages`
runs a computation of several steps, whose results are working files.
"""
