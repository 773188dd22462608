"""How calls reach the servers that keep the frontier. Entry point: `connect.connect`.

A `Link` (`link`) makes calls of the functions in `frontier/lua` (`functions`). `single` is one server, `cluster` several; both are
a `carrier.Carrier` over `master.Node`s. `partition` says which slot a host belongs to, `call_retry` how long a call is repeated,
`replication` whether it waits for a replica. `embedded` starts a server for one project.
"""
