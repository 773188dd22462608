"""The clients of a crawl beside `Frontier`. Entry point: `crawl.Crawl`, which the others share.

`crawl` holds a crawl as a whole: its settings (`agreement`), its link, and the journal of its calls. `politeness` and
`origins` concern the turns of hosts and addresses and the robots.txt files; `workers`, `backlog` and `rebuild` the
workers of the crawl, its follower and a frontier that was lost. `fleet` says what runs on which machine. `operator` and
`inspection` are the verbs of an operator. `journal` and `reconciler` repeat to a server the calls that it forgot.
`queue_tail` moves queues that have no room in memory to storage.
"""
