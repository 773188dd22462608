"""The composition root: where the parts become one job.

`config` reads thresher.toml. `project` opens what it names: storage, catalog, frontier. `recipe` lists the
steps in the order in which a URL becomes tokens; each step (`process`, `dedup`, `export`) says how its work
falls into parts and how one part is made. `engine` makes the parts that are not sealed yet, in a pool of
processes, and seals each with its Manifest. `report` adds the Manifests up. `cli` is what a user types.

Nothing here is half done after a crash: a part is sealed or it does not exist, and running the same command
again makes what is missing.
"""
