"""The verbs of the frontier that do not concern single URLs. Entry point: `coordination.Coordination`.

`coordination` holds what concerns a crawl as a whole: its settings (`agreement`), its workers, its follower. `operator` and
`inspection` are the verbs of an operator. `journal` and `reconciler` tell a server again what it forgot. `tail` moves queues that
have no room in memory to storage.
"""
