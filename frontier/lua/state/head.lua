#!lua name=thresher
--[[ The frontier's verbs. Each function is atomic and touches one slot; the server's TIME is the only clock.

A crawl has some partitions, and a home for values that concern all of it. A function is given one key,
`<prefix>count`; it makes the other keys, which all carry the same hash tag, from that prefix:

  count      hash  counters, the crawl's settings (see `configure`), and the clock (see `open`)
  hosts      hash  host -> state (see HOST)
  q:<host>   list  its waiting entries: the head, in the order in which they are granted; behind it the back, as added
  r:<host>   list  its runs: entries that lie in storage (see RUN)
  ready:<n>  zset  host of rank n -> when it may be asked, or since when it waits to be
  later      zset  host \0 entry -> when it is tried again
  visits     zset  host \0 entry -> when it is visited again, by TIME
  leases     hash  token -> lease (see `pack_lease`)
  deadlines  zset  token -> deadline
  robots     hash  origin -> state of its robots.txt (see ROBOTS)
  bodies     hash  origin -> robots.txt as last fetched, compressed by the client
  kept       zset  origin that has rules -> when a review decides whether they are still needed, by TIME
  seen       hash  bucket -> fingerprints (see The seen-set); host \0 bucket -> fingerprints of one host
  domains    hash  registered domain -> URLs, host names, rank of hosts to come, standing
  rings      hash  registered domain -> sketches of its last pages (see `novelty.lua`)
  standings  hash  host -> standings of its templates
  outcomes   hash  outcome -> pages
  reasons    hash  outcome:reason -> pages
  discarded  hash  reason -> discoveries that were not let in
  bars       hash  scope that is not wanted any more -> 1
  spill      set   hosts whose back is long enough for storage
  hungry     set   hosts whose head runs out while they have runs
  segments   hash  segment -> number of its runs that are not read back, and its name
  empty      hash  name of a segment that nobody needs any more -> since when, by TIME
  unlogged   list  pages that were settled here and are not in the log yet (see `settle_here`)
  closed     hash  number -> host whose waiting pages were all settled at once, when, and with which outcome
  closed:<n>, closedruns:<n>  list  the host's queue and its runs, until they are in the log
  ips        hash  address -> when it was acquired last, and the end of the line of callers that wait;
                   'host ' and its name -> when it was asked last without a lease of it, or will be
  taken      set   names of workers that were taken over (see takeover.lua)
  askers     set   names of workers that have asked for leases and have not ended: the server may have forgotten
                   their leases and settlements of the last second
  figures    hash  'kind ' and a kind of worker -> sums of its counters; 'progress ' and a kind -> when
                   these last grew in storage, by TIME; 'worker ' and its name -> its last report
  exchanges  hash  host -> the last exchange with it that a worker saw (see audit.lua)
  watched    zset  host -> when its entry in `exchanges` is of no use any more
  flow, stalls, outages, beats, reports, figures, exchanges, watched, meta, rebuilt   of the home only,
  as fleet, members and claims (see fleet.lua)

Rules:
  1. A URL that was let in is in exactly one place: a list, a run, later, one lease, or it is settled.
  2. A host is in `ready` exactly when its head has an entry and either it is dead, or no robots.txt of it is being
     fetched and it has fewer open exchanges than its pace allows. Only `place` writes `ready`.
  3. A host with a delay has at most one exchange open, and the next starts no sooner than the delay after the end of
     the last: its release, or the deadline of the lease that was never released.
  4. A page is granted only under a fresh robots record of its origin, or as given up: then no request is made for it.
  5. A token that is not in `leases` changes nothing.
  6. A page that is settled without a worker goes through `settle_here` or `bury`, so that the log has it.
  7. Every function may be carried out twice: the second time its work is done already.
  8. A name that was taken over is dead for ever: calls of its worker are refused before they change anything.
]]

-- Only `redis.register_function` exists while the library is loaded, so the first call sets these.
local call, sub, byte, find, char, pack, unpack_, max, min, floor

local function begin()
  call = redis.call
  sub, byte, find, char = string.sub, string.byte, string.find, string.char
  pack, unpack_ = struct.pack, struct.unpack
  max, min, floor = math.max, math.min, math.floor
end

local function verb(name, callback, flags)
  local function run(keys, args)
    if not call then begin() end
    return callback(keys, args)
  end
  redis.register_function({function_name = 'thresher_' .. name, callback = run, flags = flags or {}})
end

local FREES = {'allow-oom'} -- makes room, or gives back what nobody could take up otherwise
local READS = {'no-writes'}
