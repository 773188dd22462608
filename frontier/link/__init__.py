"""The way from calls to the servers that keep the frontier. Entry point: `connect.connect`.

A `call.Link` makes calls of the functions in `frontier/lua` (`functions`). `single` is one server, `cluster`
several; both are a `retrying_link.RetryingLink` over `master.Master`s. `partition` says which slot a host belongs to,
`call_retry` how long a call is repeated, and `replication` whether a call waits for a replica. `embedded` starts a
server for one project.
"""
