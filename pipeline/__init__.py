"""The composition root: it joins the packages to one job.

`configuration` reads thresher.toml. `project` opens what the configuration names: storage, catalog and frontier.
`recipe` lists the steps in the order in which a URL becomes tokens. Each step (`steps.process`, `steps.dedup`,
`steps.export`) says how its work falls into parts and how one part is made. `engine` makes the parts that are not
sealed yet in a pool of worker processes, and seals each with its Manifest. `reports.report` adds the Manifests up.
`commands` is the command line.

A crash leaves nothing half done: a part is sealed or it does not exist, and running the same command again makes the
missing parts.
"""

if __name__ != "thresher.pipeline":
    raise ImportError("import thresher.pipeline: `pipeline` is its folder in a checkout")
