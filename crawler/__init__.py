"""The only package that requests pages from websites. Its entry point is `worker.run_worker`.

**The life of an exchange.** The frontier grants a *lease* when a download slot is free (`scheduling.scheduler`). Until
it is settled, the lease is in the worker's queue (`scheduling.lease_queue`). A lease of a domain that holds its share
of the slots goes back (`scheduling.slot_share`). If the robots rules of the origin forbid the page (`robots`), the
lease is settled and the server hears nothing. Otherwise the lease goes to the wire (`lease_handler`, `wire`): the
worker resolves the host's name and *acquires* its address (`connectivity.address_limiter`). If it is not the address's
turn, the lease goes back. It also goes back if no answer came and the cause is on our own side, not the server's
(`connectivity.uplink`, `connectivity.failure_attribution`). The wire checks every address before it connects, records
every byte in both directions, and derives the response from those bytes; `wire` tells its own story. Then the host is
*released*: its delay begins.

The exchange ends with a *capture* or a failure; both are data. `reading` reads a capture once, into outcome, links,
rights and sketch, and `lease_result` decides how the lease ends. A page that may take long to read, or that may have
killed a worker before, is read in another process (`page_process`). The result waits in the queue for the settler
(`settler`), which appends the capture to the archive and a line to the crawl's log (`log_entry`), waits until both are
durable, and *settles* the lease. A worker with an `archive_filter` archives only a note of the pages that it drops.
Whole decoded bodies come out of one budget (`decode_budget`). Redirects are never followed: their targets are
discoveries like any other link. Only a robots.txt is followed through its redirects, because RFC 9309 requires it.

**The life of a worker** (`worker`). A worker crawls until the frontier is drained, a limit is reached, or a signal
drains it; then it seals its archive. It sends heartbeats all the while (`machine.heartbeat`), and it waits when the
processing of the crawl is behind (`gate_monitor`, `rotation`). If it is killed, its last batch is in an archive file
without a seal, and its leases are open. `replay` seals the file, settles every lease whose record is in it, and gives
the other leases back. It can do so because lease and worker determine the id of a record
(`storage.archive.record_ids`). So nothing archived is fetched again, and nothing is lost.

**The life of a crawl's record.** The frontier settles some pages without a worker, for example all waiting pages of a
host that it gives up; `replay.outbox` writes them into the same log. A lost frontier is rebuilt from log and archive:
what was settled is settled again (`replay.restore`), and the links of archived pages wait again (`replay.relink`).

**A spider** (`spiders`) is a user's own Scrapy spider. Its callbacks read the pages and name the next ones, instead
of all links; its middlewares and pipelines run in Scrapy's engine, around the lease handler. The life of an exchange
is the same. Only `spiders` imports Scrapy, and only if the user has a spider.
"""

if __name__ != "thresher.crawler":
    raise ImportError("import thresher.crawler: `crawler` is its folder in a checkout")
