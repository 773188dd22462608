"""The only package that talks to the web.

**The life of an exchange.** The frontier grants a *lease* (`loop`), because a download slot is free; a lease of a domain that
holds its share of the slots goes back (`share`). If the
origin's robots rules forbid the page (`robots`), the lease is settled without a word to the server. Otherwise it
goes to the wire (`steward`, `wire`): the host's name is looked up, and its address *entered* (`entrance`); where it is not
the address's turn the lease goes back. So it does if no answer came and that is not the server's fault, but our own side's
(`uplink`, `blame`).
Every address is checked when it is connected to, every byte is taken down in both directions, and the response is what
the bytes say: `wire` tells its own story. The lease is *released*: its host's delay begins.

What came is a *capture*, or a failure; both are data. Outcome and links are found in it (`outcome`, `page`), aside in another
process where that may take long or may have killed a worker before (`aside`), and
the settler (`settle`) appends it to the archive and a line to the crawl's log (`logline`), waits until both are durable, and
*settles* the lease together with what was found. A worker that has a `screen` archives no more than a note of the pages that it drops. Bodies that are given away whole come
out of one budget (`decoded`). Redirects are never followed: their targets are discoveries like any other link. Only a
robots.txt is followed through its redirects, as RFC 9309 says.

**The life of a worker** (`worker`). It crawls until the frontier is drained, a limit is reached, or a signal
drains it; then it seals its archive. All the while it says that it lives (`pulse`), and it waits where what comes
after the crawl is behind (`gate`, `rotation`). If it is killed, its last batch is in an archive file without a seal, and its
leases are open. `replay` seals the file, settles every lease whose record is in it, because a lease and a worker
determine the record's id (`identity`), and gives the others back. So nothing archived is fetched again, and
nothing is lost.

**The life of a crawl's record.** What the frontier settles without a worker, such as all that waited of a host that it gives up,
is brought into the same log (`outbox`). From log and archive a frontier that was lost is made again: what was settled is settled
(`restore`), and what archived pages led to waits (`relink`).

**A guest** (`guest`) is a user's own Scrapy spider: its callbacks read what comes and say what is fetched next, in place of
all links; its middlewares and pipelines are in Scrapy's engine, around the steward. The life of an exchange is the same. Nothing
but `guest` imports Scrapy, and that only where there is one.
"""

from crawler.replay.replay import recover
from crawler.worker import WorkerConfig, run_worker

__all__ = ["WorkerConfig", "recover", "run_worker"]
