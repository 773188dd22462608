#!lua name=thresher
--[[ The frontier's verbs. Each function is atomic and touches one slot; the server's TIME is the only clock.

A crawl is some partitions, and a home for what concerns all of it. A function is given one key, `<prefix>count`; the
others of the same prefix, which all carry the same hash tag, are made from it:

  count      hash  counters, and the clock (see `open`)
  hosts      hash  host -> state (see HOST)
  q:<host>   list  its waiting entries: the head, in the order in which they are granted; behind it the back, as added
  r:<host>   list  its runs: entries that lie in storage (see RUN)
  ready:<n>  zset  host of rank n -> when it may be asked, or since when it waits to be
  later      zset  host \0 entry -> when it is tried again
  visits     zset  host \0 entry -> when it is visited again, by TIME
  leases     hash  token -> lease (see `pack_lease`)
  deadlines  zset  token -> deadline
  robots     hash  origin -> state of its robots.txt (see ROBOTS)
  bodies     hash  origin -> robots.txt as last fetched, as the client packs it
  seen       hash  bucket -> fingerprints (see The seen-set); host \0 bucket -> fingerprints of one host
  domains    hash  registered domain -> URLs, host names, rank of hosts to come, standing
  rings      hash  registered domain -> what its last pages said (see Novelty)
  standings  hash  host -> standings of its templates
  outcomes   hash  outcome -> pages
  reasons    hash  outcome:reason -> pages
  discarded  hash  reason -> discoveries that were not let in
  bars       hash  scope of what is not wanted any more -> 1
  spill      set   hosts whose back is long enough to be put into storage
  hungry     set   hosts whose head runs out while they have runs
  segments   hash  segment -> number of its runs that are not read back, and its name
  empty      set   names of segments that nobody needs any more
  ips        hash  address -> when it was entered last, and the end of the line of those who wait
  flow, stalls, beats                  of the home only

Rules:
  1. A URL that was let in is in exactly one place: a list, a run, later, one lease, or it is settled.
  2. A host is in `ready` exactly when its head has an entry, no robots.txt of it is being fetched, it is not dead, and it
     has fewer open exchanges than its pace allows. Only `place` writes `ready`.
  3. A host with a delay has at most one exchange open, and the next begins no sooner than the delay after the end of
     the last: its release, or the deadline of the lease that was never released.
  4. A page is granted only under a fresh robots record of its origin.
  5. A token that is not in `leases` changes nothing.
  6. Every function may be carried out twice: the second time it finds its work done.
]]

local MAX_OPEN = 16 -- exchanges at once with a host that has no delay: it is ours, or a test
local MAX_ATTEMPTS = 3 -- Nutch: db.fetch.retry.max
local MAX_EXPIRIES = 5 -- a page that kills five workers is the killer
local RETRY_MS = 30000 -- doubles with every attempt
local UNREADABLE_MS = 86400000 -- RFC 9309, section 2.4: robots.txt is not kept for longer than a day
local SWEEP = 1000 -- expired leases, and due pages, taken up by one call
local OPENS_AT = 4 / 5 -- of the limit: a gate that opened at the limit would flutter
local LEAP_MS = 15000 -- a longer time without a call may be a clock that was set: it counts as none
local LOST_TOKENS = 1048576 -- more than can be granted in what a crash may lose
local SLOWEST_MS = 30000 -- Heritrix: maxDelayMs
local FACTOR = 2 -- of the time that a host takes to answer
local HEAD = 32 -- entries in order
local LOW = 8 -- entries in the head at which more are fetched from storage
local BACK = 64 -- entries that are worth a run in storage
local RANKS = 4
local LEVEL_ZERO = 2147483648 -- levels are signed; bytes are not
local FOREVER = 281474976710655 -- 2^48 - 1
local PUT_OFF = 500 -- hosts whose turn turns out not to have come, in one call: after a restart that is all of them
local PASSED_OVER = 64 -- entries that nobody wants any more, settled by one grant

-- Faults in a row at which the circuit of a host opens, and for how long; that doubles with every opening.
local FAULTS = {
  dns = {1, 60000}, connect = {1, 60000}, reset = {3, 30000}, timeout = {2, 30000}, tls = {3, 60000},
  busy = {1, 30000}, server = {5, 60000},
}
local ANSWERS = {fetched = true, unchanged = true, redirected = true, gone = true, retry = true}
local SILENT = {dns = true, connect = true, reset = true, timeout = true, tls = true}
local LONGEST_HOLD_MS = 3600000
local LIVES = 8 -- openings in a row after which a host is dead that once answered
local STILLBORN = 3 -- and one that never did

-- Nothing but `redis.register_function` is there while the library is loaded: set by the first call.
local call, sub, byte, find, char, pack, unpack_, max, min, floor

local function begin()
  call = redis.call
  sub, byte, find, char = string.sub, string.byte, string.find, string.char
  pack, unpack_ = struct.pack, struct.unpack
  max, min, floor = math.max, math.min, math.floor
end

-- The clock ------------------------------------------------------------------------------------------------

local nonce -- of this library in this server: another one after a restart, a failover, a move to another node

local function wall_ms()
  local time = call('TIME')
  nonce = nonce or time[1] .. '.' .. time[2]
  return time[1] * 1000 + floor(time[2] / 1000)
end

local function at(prefix, now, wall, since)
  return {
    now = now, -- the steady clock, in ms: delays, leases and holds run on it
    wall = wall, -- TIME: robots.txt grows old on it, and visits fall due
    since = since, -- nothing that was granted before is known for certain
    prefix = prefix, n = {}, tallies = {},
    hosts = prefix .. 'hosts', leases = prefix .. 'leases', deadlines = prefix .. 'deadlines', seen = prefix .. 'seen',
    robots = prefix .. 'robots', count = prefix .. 'count', later = prefix .. 'later', ready = prefix .. 'ready:',
  }
end

-- What a function that changes something begins with; `close` ends it.
local function open(keys)
  local key = keys[1]
  local wall = wall_ms()
  local f = call('HMGET', key, 'steady', 'wall', 'born', 'since', 'starved')
  local now, since = tonumber(f[1]) or wall, tonumber(f[4]) or 0
  local elapsed = wall - (tonumber(f[2]) or wall)
  if elapsed > 0 and elapsed <= LEAP_MS then now = now + elapsed end
  if f[3] and f[3] ~= nonce then
    since = now
    call('HINCRBY', key, 'token', LOST_TOKENS)
  end
  call('HSET', key, 'steady', now, 'wall', wall, 'born', nonce, 'since', since)
  local c = at(sub(key, 1, -6), now, wall, since)
  c.starved = tonumber(f[5] or 0) -- domains
  return c
end

-- What a function that only reads begins with.
local function look(keys)
  local wall = wall_ms()
  local f = call('HMGET', keys[1], 'steady', 'wall', 'since')
  local now = tonumber(f[1]) or wall
  local elapsed = wall - (tonumber(f[2]) or wall)
  if elapsed > 0 and elapsed <= LEAP_MS then now = now + elapsed end
  return at(sub(keys[1], 1, -6), now, wall, tonumber(f[3]) or 0)
end

local function bump(c, counter, by) c.n[counter] = (c.n[counter] or 0) + by end

local function tally(c, hash, field, by)
  local t = c.tallies[hash]
  if not t then
    t = {}
    c.tallies[hash] = t
  end
  t[field] = (t[field] or 0) + by
end

local function close(c)
  for field, by in pairs(c.n) do
    if by ~= 0 then call('HINCRBY', c.count, field, by) end
  end
  for hash, fields in pairs(c.tallies) do
    for field, by in pairs(fields) do call('HINCRBY', c.prefix .. hash, field, by) end
  end
end

local function conclude(c, outcome, reason, pages)
  tally(c, 'outcomes', outcome, pages)
  if reason ~= '' then tally(c, 'reasons', outcome .. ':' .. reason, pages) end
end

-- Entries --------------------------------------------------------------------------------------------------
-- level (4 bytes), attempt, expiries, a byte of the URL's hash, template (4 bytes), origin (s https, p http; upper case:
-- the port follows in 2 bytes), how far the path is from here, what only the client reads, the path.

local function level_of(entry) return (unpack_('>I4', entry)) end

local SCHEMES = {s = 'https://', p = 'http://'}

local function origin_of(host, entry)
  local code = sub(entry, 12, 12)
  local scheme = SCHEMES[code]
  if scheme then return scheme .. host end
  return SCHEMES[string.lower(code)] .. host .. ':' .. unpack_('>I2', entry, 13)
end

-- Domains --------------------------------------------------------------------------------------------------

local DOMAIN = '>I4I4BB'
local DOMAIN_FIRST, HOST_FIRST, TEMPLATE_FIRST = 96, 80, 64 -- standings; see Novelty

local function read_domain(c, name)
  local text = call('HGET', c.prefix .. 'domains', name)
  local d = {name = name, urls = 0, hosts = 0, rank = 1, standing = DOMAIN_FIRST}
  if text then d.urls, d.hosts, d.rank, d.standing = unpack_(DOMAIN, text) end
  return d
end

local function write_domain(c, d)
  call('HSET', c.prefix .. 'domains', d.name, pack(DOMAIN, d.urls, d.hosts, d.rank, d.standing))
end

-- Hosts ----------------------------------------------------------------------------------------------------

local HOST = '>I4I4I6I6I2BI4I2I4I4I4I4BBBI6BBB'
local ASKING, ANSWERED, DEAD, HUNGRY, SPILLS, TRAPS = 1, 2, 4, 8, 16, 32

local function has(flags, flag) return floor(flags / flag) % 2 == 1 end

local function set(h, flag) if not has(h.flags, flag) then h.flags = h.flags + flag end end

local function unset(h, flag) if has(h.flags, flag) then h.flags = h.flags - flag end end

local function read_host(c, name)
  local text = call('HGET', c.hosts, name)
  if not text then return nil end
  local h = {name = name}
  local next
  h.delay, -- what robots rules ask for
  h.pace, -- the delay that the last lease was granted under
  h.last, -- when the last exchange ended
  h.held, -- nothing is asked before
  h.open, -- exchanges under way, robots.txt included
  h.flags,
  h.waiting, -- entries in all: head, back and tail
  h.head,
  h.back,
  h.tail, -- entries in storage
  h.added, -- entries ever
  h.smooth, -- how long it takes to answer, in ms; smoothed as RFC 6298 smooths round trips
  h.faults, -- exchanges in a row that came to nothing
  h.trips, -- openings of the circuit in a row
  h.rank,
  h.due, -- its score in `ready`; 0 where it is not there
  h.turn, -- changes when the back is taken from
  h.standing, -- see Novelty
  h.owned, -- letters of its registered domain, with which its name ends
  next = unpack_(HOST, text)
  h.slowest = sub(text, next) -- the origin whose robots rules the delay is
  return h
end

local function new_host(name, domain, rank)
  return {
    name = name, delay = 0, pace = 0, last = 0, held = 0, open = 0, flags = 0, waiting = 0, head = 0, back = 0, tail = 0,
    added = 0, smooth = 0, faults = 0, trips = 0, rank = rank, due = 0, turn = 0, standing = HOST_FIRST, owned = #domain, slowest = '',
  }
end

local function write_host(c, h)
  call('HSET', c.hosts, h.name, pack(HOST, h.delay, h.pace, h.last, h.held, h.open, h.flags, h.waiting, h.head, h.back,
    h.tail, h.added, h.smooth, h.faults, h.trips, h.rank, h.due, h.turn, h.standing, h.owned) .. h.slowest)
end

local function capacity(h, pace)
  if pace > 0 or h.trips > 0 then return 1 end -- half open: a single probe
  return MAX_OPEN
end

local function unready(c, h)
  if h.due > 0 then
    call('ZREM', c.ready .. h.rank, h.name)
    h.due = 0
  end
end

-- The one place that decides whether a host may be asked, and when. One that waits already keeps its turn.
local function place(c, h)
  local pace = max(h.delay, h.open > 0 and h.pace or 0)
  if h.head == 0 or h.open >= capacity(h, pace) or has(h.flags, ASKING) or has(h.flags, DEAD) then return unready(c, h) end
  local when = max(h.held, max(h.last, c.since) + max(h.delay, h.pace), c.now)
  if h.due == 0 or (when > c.now and when > h.due) then
    call('ZADD', c.ready .. h.rank, when, h.name)
    h.due = when
  end
end

-- Queues ---------------------------------------------------------------------------------------------------

local function queue(c, h) return c.prefix .. 'q:' .. h.name end

local function by_level(entries)
  for i, entry in ipairs(entries) do entries[i] = {level_of(entry), i, entry} end
  table.sort(entries, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
  for i, entry in ipairs(entries) do entries[i] = entry[3] end
  return entries
end

-- Puts entries in order in the place of the head.
local function new_head(c, h, entries)
  local key = queue(c, h)
  if h.head > 0 then
    if h.back > 0 then call('LTRIM', key, h.head, -1) else call('DEL', key) end
  end
  for last = #entries, 1, -500 do
    local slice = {}
    for i = last, max(1, last - 499), -1 do slice[#slice + 1] = entries[i] end
    call('LPUSH', key, unpack(slice))
  end
  h.head = #entries
end

local function watch_back(c, h)
  if h.back >= BACK then
    if not has(h.flags, SPILLS) then
      set(h, SPILLS)
      call('SADD', c.prefix .. 'spill', h.name)
    end
  elseif has(h.flags, SPILLS) then
    unset(h, SPILLS)
    call('SREM', c.prefix .. 'spill', h.name)
  end
end

local function watch_head(c, h)
  if h.tail > 0 and h.head <= LOW then
    if not has(h.flags, HUNGRY) then
      set(h, HUNGRY)
      call('SADD', c.prefix .. 'hungry', h.name)
    end
  elseif has(h.flags, HUNGRY) then
    unset(h, HUNGRY)
    call('SREM', c.prefix .. 'hungry', h.name)
  end
end

-- The head is empty: the beginning of the back becomes the head.
local function promote(c, h)
  if h.head > 0 or h.back == 0 then return end
  local key, n = queue(c, h), min(HEAD, h.back)
  local entries = call('LRANGE', key, 0, n - 1)
  if n == h.back then call('DEL', key) else call('LTRIM', key, n, -1) end
  h.back, h.turn = h.back - n, (h.turn + 1) % 256
  new_head(c, h, by_level(entries))
  watch_back(c, h)
end

-- An entry finds its place among the head's, behind those of its level.
local function insert(c, h, entry)
  local key, level = queue(c, h), level_of(entry)
  local entries = call('LRANGE', key, 0, h.head - 1)
  for _, other in ipairs(entries) do
    if level_of(other) > level then
      call('LINSERT', key, 'BEFORE', other, entry)
      h.head = h.head + 1
      return
    end
  end
  call('LINSERT', key, 'AFTER', entries[#entries], entry)
  h.head = h.head + 1
end

-- Makes an entry wait, behind those of its level; the caller places the host.
local function enqueue(c, h, entry)
  local key = queue(c, h)
  h.waiting = h.waiting + 1
  bump(c, 'waiting', 1)
  if h.head == 0 and h.back == 0 then
    call('RPUSH', key, entry)
    h.head = 1
    return
  end
  local last = h.head > 0 and level_of(call('LINDEX', key, h.head - 1))
  local level = level_of(entry)
  if last and level < last and h.head < 2 * HEAD then
    insert(c, h, entry)
  elseif last and h.head < HEAD and h.back == 0 and h.tail == 0 then
    call('RPUSH', key, entry)
    h.head = h.head + 1
  else
    call('RPUSH', key, entry)
    h.back = h.back + 1
    watch_back(c, h)
  end
end

-- An entry that was granted goes back to where it came from.
local function put_back(c, h, entry)
  bump(c, 'waiting', 1)
  h.waiting = h.waiting + 1
  if h.head == 0 or level_of(call('LINDEX', queue(c, h), 0)) >= level_of(entry) then
    call('LPUSH', queue(c, h), entry)
    h.head = h.head + 1
  else
    insert(c, h, entry)
  end
end

-- Runs -----------------------------------------------------------------------------------------------------
-- segment, offset, length, entries, lowest level, CRC-32

local RUN = '>I4I4I4I2I4I4'

local function runs(c, h) return c.prefix .. 'r:' .. h.name end

local function forget_run(c, run)
  local segment = tostring((unpack_(RUN, run)))
  local text = call('HGET', c.prefix .. 'segments', segment)
  local left, name = string.match(text, '^(%d+) (.*)$')
  if left == '1' then
    call('HDEL', c.prefix .. 'segments', segment)
    call('SADD', c.prefix .. 'empty', name)
  else
    call('HSET', c.prefix .. 'segments', segment, (left - 1) .. ' ' .. name)
  end
end

-- Everything of a host that waits comes to an end.
local function bury(c, h, outcome, reason)
  if h.tail > 0 then
    for _, run in ipairs(call('LRANGE', runs(c, h), 0, -1)) do forget_run(c, run) end
    call('DEL', runs(c, h))
  end
  call('DEL', queue(c, h))
  if h.waiting > 0 then conclude(c, outcome, reason, h.waiting) end
  bump(c, 'waiting', -h.waiting)
  bump(c, 'tail', -h.tail)
  local buried = h.waiting
  h.waiting, h.head, h.back, h.tail, h.turn = 0, 0, 0, 0, (h.turn + 1) % 256
  watch_back(c, h)
  watch_head(c, h)
  return buried
end

-- The seen-set ---------------------------------------------------------------------------------------------
-- A URL is 7 bytes of a hash. Five are its fingerprint, which is kept, in a bucket of some LOAD; three of these choose
-- the bucket. Tables grow by linear hashing (Litwin, VLDB 1980), a bucket at a time. A host has a table of its own, for a
-- page's links are mostly of its own host and are so found together; from MOST URLs on its others go into one table of the
-- partition, which the other two bytes spread over BASES buckets before any is split. A URL that was never added is taken
-- for known where a fingerprint of its bucket equals its own: after g doublings with odds of LOAD / 2^(40 - g), at most
-- 1e-8 in a host's table, and in the partition's 1e-9 for ten million URLs, 1e-7 for a billion.

local LOAD = 128
local MOST = 8192
local BASES = 1024

local function load(c, field)
  local text = c.prints[field]
  if not text then
    text = call('HGET', c.seen, field) or ''
    c.prints[field] = text
  end
  return text
end

local function keep_prints(c, field, text)
  c.prints[field], c.changed[field] = text, true
end

local function write_prints(c)
  for field in pairs(c.changed) do
    if c.prints[field] == '' then call('HDEL', c.seen, field) else call('HSET', c.seen, field, c.prints[field]) end
  end
  c.changed = {}
end

local function contains(bucket, print)
  local from = find(bucket, print, 1, true)
  while from do
    if from % 5 == 1 then return true end
    from = find(bucket, print, from + 1, true)
  end
  return false
end

-- The most doublings of `least` that do not exceed `buckets`.
local function rounds(buckets, least)
  local size = least
  while size * 2 <= buckets do size = size * 2 end
  return size
end

local function address(number, buckets, size)
  local i = number % (2 * size)
  if i >= buckets then return i - size end
  return i
end

local function number_of(a, b, d) return (a * 256 + b) * 256 + d end

-- Moves what belongs there from bucket `buckets - size` to a new one, `buckets`. `base` and `bases` are of all there.
local function split(c, prefix, buckets, size, base, bases)
  local stay, go = {}, {}
  local old = prefix .. (buckets - size)
  local text = load(c, old)
  for i = 1, #text, 5 do
    local to = (base + bases * number_of(byte(text, i, i + 2))) % (2 * size) == buckets and go or stay
    to[#to + 1] = sub(text, i, i + 4)
  end
  keep_prints(c, old, table.concat(stay))
  keep_prints(c, prefix .. buckets, table.concat(go))
end

local function tables_of(n) return max(1, floor((min(n, MOST) + LOAD - 1) / LOAD)) end

local function host_field(name, n, hash)
  local buckets = tables_of(n)
  if buckets == 1 then return name .. '\0' .. '0' end
  return name .. '\0' .. address(number_of(byte(hash, 3, 5)), buckets, rounds(buckets, 1))
end

local function wide_field(c, hash)
  if not c.buckets then
    local f = call('HMGET', c.count, 'buckets', 'wide')
    c.buckets, c.wide = tonumber(f[1]) or BASES, tonumber(f[2]) or 0
    c.size = rounds(c.buckets, BASES)
  end
  local x, y, a, b, d = byte(hash, 1, 5)
  return tostring(address((x * 256 + y) % BASES + BASES * number_of(a, b, d), c.buckets, c.size))
end

-- Whether a URL of a host that has n URLs is known.
local function known(c, name, n, hash)
  local print = sub(hash, 3)
  return contains(load(c, host_field(name, n, hash)), print)
    or (n >= MOST and contains(load(c, wide_field(c, hash)), print))
end

local function remember(c, name, n, hash)
  local print = sub(hash, 3)
  if n < MOST then
    local buckets = tables_of(n)
    if tables_of(n + 1) > buckets then split(c, name .. '\0', buckets, rounds(buckets, 1), 0, 1) end
    local field = host_field(name, n + 1, hash)
    keep_prints(c, field, load(c, field) .. print)
    return
  end
  local field = wide_field(c, hash)
  keep_prints(c, field, load(c, field) .. print)
  c.wide = c.wide + 1
  bump(c, 'wide', 1)
  if c.wide > LOAD * c.buckets then
    split(c, '', c.buckets, c.size, (c.buckets - c.size) % BASES, BASES)
    c.buckets = c.buckets + 1
    c.size = rounds(c.buckets, c.size)
    call('HSET', c.count, 'buckets', c.buckets)
  end
end

local ADDED_AT = 38 -- where `added` stands in a host's state

-- Loads at once the buckets that a call to `add` will look into; how many URLs each host has.
local function load_all(c, args, from)
  c.prints, c.changed = {}, {}
  local names, starts, numbers, fields, wanted = {}, {}, {}, {}, {}
  local i = from
  while i <= #args do
    names[#names + 1], starts[#starts + 1] = args[i], i
    i = i + 3 + 2 * args[i + 2]
  end
  for first = 1, #names, 500 do
    local last = min(first + 499, #names)
    for j, text in ipairs(call('HMGET', c.hosts, unpack(names, first, last))) do
      local start, name = starts[first + j - 1], names[first + j - 1]
      local n = text and unpack_('>I4', text, ADDED_AT) or 0
      numbers[name] = n
      if n > 0 then
        for k = start + 3, start + 1 + 2 * args[start + 2], 2 do
          local field = host_field(name, n, args[k])
          if not wanted[field] then
            wanted[field] = true
            fields[#fields + 1] = field
          end
        end
      end
    end
  end
  for first = 1, #fields, 500 do
    local last = min(first + 499, #fields)
    for j, text in ipairs(call('HMGET', c.seen, unpack(fields, first, last))) do
      c.prints[fields[first + j - 1]] = text or ''
    end
  end
  return numbers
end

-- Robots ---------------------------------------------------------------------------------------------------

local ROBOTS = '>I4I6BBB'
local RULES = {allow = 1, disallow = 2, rules = 3}
local RULE_NAMES = {'allow', 'disallow', 'rules'}

local function read_robots(c, origin)
  local text = call('HGET', c.robots, origin)
  if not text then return {version = 0, expires = 0, rule = 1, attempt = 0, expiries = 0} end
  local r = {}
  r.version,
  r.expires, -- by TIME
  r.rule,
  r.attempt, -- times in a row that it could not be had
  r.expiries = unpack_(ROBOTS, text) -- times in a row that its worker was not heard of again
  return r
end

local function write_robots(c, origin, r)
  call('HSET', c.robots, origin, pack(ROBOTS, r.version, r.expires, r.rule, min(r.attempt, 255), r.expiries))
end

local function store_robots(c, origin, rule, body, ttl)
  local version = read_robots(c, origin).version + 1
  write_robots(c, origin, {version = version, expires = c.wall + ttl, rule = RULES[rule], attempt = 0, expiries = 0})
  if body == '' then
    if version > 1 then call('HDEL', c.prefix .. 'bodies', origin) end
  else
    call('HSET', c.prefix .. 'bodies', origin, body)
  end
end

-- Faults ---------------------------------------------------------------------------------------------------

-- What an exchange told of its host; `hold` is for how long the server asked us to stay away.
local function judge(c, h, fault, hold)
  if fault == '' then
    if h.trips > 0 then bump(c, 'held', -1) end
    h.faults, h.trips = 0, 0
    set(h, ANSWERED)
  else
    local rule = FAULTS[fault]
    h.faults = min(h.faults + 1, 255)
    if h.faults >= rule[1] or h.trips > 0 then
      if h.trips == 0 then bump(c, 'held', 1) end
      local wait = min(rule[2] * 2 ^ h.trips, LONGEST_HOLD_MS)
      if hold > 0 then wait = hold end
      h.trips, h.faults = min(h.trips + 1, 255), 0
      h.held = max(h.held, c.now + wait)
      if SILENT[fault] and h.trips >= (has(h.flags, ANSWERED) and LIVES or STILLBORN) then
        bury(c, h, 'failed', 'host_dead')
        set(h, DEAD)
        bump(c, 'dead', 1)
      end
    end
  end
  if hold > 0 then h.held = max(h.held, c.now + hold) end
end

-- Novelty --------------------------------------------------------------------------------------------------
-- The rule of frontier/novelty.py, which says why. A standing is a credit, and STARVED once that is spent.

local STARVED = 128
local EARNED, RECOVERED = 9, 16
local TEMPLATE_MOST, TEMPLATE_PROVEN = 96, 88
local HOST_MOST, HOST_PROVEN = 120, 112
local DOMAIN_MOST = 127
local RING = 240 -- bytes: 120 sketches of two
local TEMPLATES = 1000 -- bytes: 200 templates of a host, five each; others are not judged

local function after(standing, most, new)
  local starved = standing >= STARVED and STARVED or 0
  local credit = standing - starved
  if new then credit = min(credit + EARNED, most) else credit = max(credit - 1, 0) end
  if credit == 0 then starved = STARVED elseif credit >= RECOVERED then starved = 0 end
  return starved + credit
end

-- Where `item` begins in a text of items of `width` bytes that begin with it; nil where it is not.
local function position_in(text, item, width)
  local from = find(text, item, 1, true)
  while from and from % width ~= 1 do from = find(text, item, from + 1, true) end
  return from
end

local function standing_of(text, template)
  local from = position_in(text, template, 5)
  return from and byte(text, from + 4) or TEMPLATE_FIRST, from
end

local function domain_of(h) return sub(h.name, -h.owned) end

-- A page of the host said this (2 bytes).
local function hear(c, h, entry, sketch)
  local d = read_domain(c, domain_of(h))
  local rings = c.prefix .. 'rings'
  local ring = call('HGET', rings, d.name) or ''
  local from = position_in(ring, sketch, 2)
  local new = not from
  if new then
    if #ring >= RING then ring = sub(ring, 3) end
  else
    ring = sub(ring, 1, from - 1) .. sub(ring, from + 2)
  end
  call('HSET', rings, d.name, ring .. sketch)
  local before = d.standing
  d.standing = after(before, DOMAIN_MOST, new)
  if d.standing ~= before then write_domain(c, d) end
  if (d.standing >= STARVED) ~= (before >= STARVED) then bump(c, 'starved', before >= STARVED and -1 or 1) end
  h.standing = after(h.standing, HOST_MOST, new)
  local template = sub(entry, 8, 11)
  local text = call('HGET', c.prefix .. 'standings', h.name) or ''
  local standing, place_ = standing_of(text, template)
  local now = after(standing, TEMPLATE_MOST, new)
  if now >= STARVED then set(h, TRAPS) end
  if place_ then
    if now == standing then return end
    text = sub(text, 1, place_ + 3) .. char(now) .. sub(text, place_ + 5)
  elseif #text < TEMPLATES then
    text = text .. template .. char(now)
  else
    return
  end
  call('HSET', c.prefix .. 'standings', h.name, text)
end

-- Whether an entry is starved: it leads to where nothing new is said.
local function trapped(c, h, entry)
  if c.starved == 0 and h.standing < STARVED and not has(h.flags, TRAPS) then return false end
  if byte(entry, 7) % 64 == 0 then return false end -- a trickle goes on, and may prove that it was wrong
  local template = standing_of(call('HGET', c.prefix .. 'standings', h.name) or '', sub(entry, 8, 11))
  if template >= STARVED then return true end
  if template >= TEMPLATE_PROVEN then return false end
  if h.standing >= STARVED then return true end
  return h.standing < HOST_PROVEN and c.starved > 0 and read_domain(c, domain_of(h)).standing >= STARVED
end

-- Leases ---------------------------------------------------------------------------------------------------

local LEASE = '>BBBBI6'

local function pack_lease(l)
  return pack(LEASE, l.kind, l.released and 1 or 0, #l.worker, #l.host, l.granted) .. l.worker .. l.host .. l.subject
end

local PAGE, ROBOTS_TXT = 1, 2
local KINDS = {'page', 'robots'}

local function parse_lease(text)
  local kind, released, w, h, granted, next = unpack_(LEASE, text)
  return {
    kind = kind, released = released == 1, granted = granted, worker = sub(text, next, next + w - 1),
    host = sub(text, next + w, next + w + h - 1), subject = sub(text, next + w + h),
  }
end

local function read_lease(c, token)
  local text = call('HGET', c.leases, token)
  return text and parse_lease(text)
end

local function end_exchange(h, when)
  h.open = h.open - 1
  h.last = max(h.last, when)
end

-- Ends a lease whose exchange was over at `when` at the latest; returns its host, to be changed, placed, written.
local function finish(c, token, l, when)
  call('HDEL', c.leases, token)
  call('ZREM', c.deadlines, token)
  local h = read_host(c, l.host)
  if not l.released then end_exchange(h, when) end
  if l.kind == PAGE then bump(c, 'leased', -1) else unset(h, ASKING) end
  return h
end

local function settle_host(c, h)
  place(c, h)
  write_host(c, h)
end

-- Ends a lease that nobody settled.
local function abandon(c, token, l, when, expired)
  local h = finish(c, token, l, when)
  local strike = expired and 1 or 0
  if l.kind == PAGE then
    local expiries = byte(l.subject, 6) + strike
    if expiries >= MAX_EXPIRIES then
      conclude(c, 'failed', 'lease_expired', 1)
    elseif has(h.flags, DEAD) then
      conclude(c, 'failed', 'host_dead', 1)
    else
      put_back(c, h, sub(l.subject, 1, 5) .. char(expiries) .. sub(l.subject, 7))
    end
  else
    local r = read_robots(c, l.subject)
    r.expiries = r.expiries + strike
    if r.expiries >= MAX_EXPIRIES then
      store_robots(c, l.subject, 'disallow', '', UNREADABLE_MS) -- RFC 9309, 2.3.1.4: unreachable
    else
      write_robots(c, l.subject, r)
    end
  end
  settle_host(c, h)
end

local function expire(c)
  local due = call('ZRANGE', c.deadlines, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, SWEEP, 'WITHSCORES')
  for i = #due - 1, 1, -2 do -- the last first: each goes before those that are there
    abandon(c, due[i], read_lease(c, due[i]), tonumber(due[i + 1]), true)
  end
end

-- What waited for its time waits for its turn.
local function wake(c, key, now, counter)
  for _, member in ipairs(call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, SWEEP)) do
    call('ZREM', key, member)
    bump(c, counter, -1)
    if counter == 'scheduled' then bump(c, 'added', 1) end
    local cut = find(member, '\0', 1, true)
    local h = read_host(c, sub(member, 1, cut - 1))
    if has(h.flags, DEAD) then
      conclude(c, 'failed', 'host_dead', 1)
    else
      enqueue(c, h, sub(member, cut + 1))
      settle_host(c, h)
    end
  end
end

-- What a worker is told of a lease.
local function tell(c, token, l, deadline, slot)
  local r = read_robots(c, l.kind == PAGE and origin_of(l.host, l.subject) or l.subject)
  return {token, KINDS[l.kind], deadline, r.version, r.attempt, slot, l.host, l.subject}
end

-- Whether a host, or one of its entries, is barred.
local function barred(c, h, entry)
  if not c.bars then c.bars = call('HKEYS', c.prefix .. 'bars') end
  if #c.bars == 0 then return false end
  local start = SCHEMES[sub(entry, 12, 12)] and 13 or 15
  local url = origin_of(h.name, entry) .. sub(entry, start + unpack_('>I2', entry, start))
  for _, bar in ipairs(c.bars) do
    local kind, anchor = string.match(bar, '^(%a+):?(.*)$')
    if kind == 'any' or (kind == 'host' and anchor == h.name) or (kind == 'domain' and anchor == domain_of(h))
      or (kind == 'prefix' and sub(url, 1, #anchor) == anchor) then return true end
  end
  return false
end

-- Why an entry is not wanted any more; nil where it is.
local function unwanted(c, h, entry)
  if trapped(c, h, entry) then return 'trap' end
  if barred(c, h, entry) then return 'dropped' end
  return nil
end

-- Grants one lease on a host that is ready, or takes it out of `ready`, or moves it to when it may be asked.
local function grant(c, name, token, worker, lease_ms, min_delay)
  local h = read_host(c, name)
  local pace = max(min_delay, h.delay)
  if pace > 0 then pace = max(pace, min(FACTOR * h.smooth, SLOWEST_MS)) end
  if h.open >= capacity(h, pace) then
    unready(c, h)
    write_host(c, h)
    return nil
  end
  local began = max(h.last, c.since)
  local when = max(began > 0 and began + pace or 0, h.held)
  if when > c.now then
    call('ZADD', c.ready .. h.rank, when, name)
    h.due = when
    write_host(c, h)
    return nil
  end
  local key = queue(c, h)
  local entry, origin, r
  for _ = 1, PASSED_OVER do
    entry = call('LPOP', key)
    h.head = h.head - 1
    local reason = unwanted(c, h, entry)
    if not reason then break end
    h.waiting = h.waiting - 1
    bump(c, 'waiting', -1)
    conclude(c, 'refused', reason, 1)
    promote(c, h)
    entry = nil
    if h.head == 0 then break end
  end
  if not entry then
    watch_head(c, h)
    settle_host(c, h)
    return nil
  end
  origin = origin_of(name, entry)
  r = read_robots(c, origin)
  local l = {kind = PAGE, released = false, host = name, subject = entry, worker = worker, granted = c.now}
  if r.expires > c.wall then
    h.waiting = h.waiting - 1
    bump(c, 'waiting', -1)
    bump(c, 'leased', 1)
    promote(c, h)
    watch_head(c, h)
  else
    call('LPUSH', key, entry)
    h.head = h.head + 1
    l.kind, l.subject = ROBOTS_TXT, origin
    set(h, ASKING)
  end
  call('HSET', c.leases, token, pack_lease(l))
  call('ZADD', c.deadlines, c.now + lease_ms, token)
  h.open, h.pace = h.open + 1, pace
  local slot = h.held
  if h.open < capacity(h, pace) and h.head > 0 and not has(h.flags, ASKING) then
    h.due = c.now -- its turn is over
    call('ZADD', c.ready .. h.rank, c.now, name)
  else
    unready(c, h)
  end
  write_host(c, h)
  return {token, KINDS[l.kind], c.now + lease_ms, r.version, r.attempt, slot, name, l.subject}
end

-- The verbs ------------------------------------------------------------------------------------------------

-- args: URLs of a host at most (-1: any number), of a domain, hosts of a domain; then for each host: its name, its
-- domain, a number, and so many times a hash and an entry. Returns how many were unknown, how many known, and pairs of
-- reason and number.
local function add(keys, args)
  local c = open(keys)
  local of_host, of_domain, of_hosts = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  local numbers = load_all(c, args, 4)
  local added, was_known, reasons = 0, 0, {}
  local i = 4
  while i <= #args do
    local name, n = args[i], tonumber(args[i + 2])
    local h, d, fresh, changed
    for j = i + 3, i + 1 + 2 * n, 2 do
      local hash, entry = args[j], args[j + 1]
      if known(c, name, numbers[name], hash) then
        was_known = was_known + 1
      else
        if not h then
          h, d = read_host(c, name), read_domain(c, args[i + 1])
          fresh = not h
          h = h or new_host(name, d.name, d.rank)
        end
        local reason = unwanted(c, h, entry)
        if fresh and d.hosts >= of_hosts then
          reason = 'domain_hosts'
        elseif has(h.flags, DEAD) then
          reason = 'host_dead'
        elseif of_host >= 0 and h.added >= of_host then
          reason = 'host_budget'
        elseif of_domain >= 0 and d.urls >= of_domain then
          reason = 'domain_budget'
        end
        if reason then
          reasons[reason] = (reasons[reason] or 0) + 1
          tally(c, 'discarded', reason, 1)
        else
          remember(c, name, h.added, hash)
          h.added, d.urls, added, changed = h.added + 1, d.urls + 1, added + 1, true
          numbers[name] = h.added
          if fresh then
            fresh = false
            d.hosts = d.hosts + 1
            bump(c, 'hosts', 1)
          end
          enqueue(c, h, entry)
        end
      end
    end
    if changed then
      write_domain(c, d)
      settle_host(c, h)
    end
    i = i + 3 + 2 * n
  end
  write_prints(c)
  bump(c, 'added', added)
  close(c)
  local told = {added, was_known}
  for reason, n in pairs(reasons) do
    told[#told + 1] = reason
    told[#told + 1] = n
  end
  return told
end

-- args: n, worker, lease_ms, min_delay_ms, limit (negative: none), partitions, partition
local function lease(keys, args)
  local c = open(keys)
  local n, limit = tonumber(args[1]), tonumber(args[5])
  local partitions, partition = tonumber(args[6]), tonumber(args[7])
  expire(c)
  wake(c, c.later, c.now, 'later')
  wake(c, c.prefix .. 'visits', c.wall, 'scheduled')
  if limit >= 0 then
    local taken = tonumber(call('HGET', c.prefix .. 'outcomes', 'fetched') or 0)
      + tonumber(call('HGET', c.count, 'leased') or 0) + (c.n.leased or 0)
    n = min(n, limit - taken)
  end
  local granted = {}
  local counter = tonumber(call('HGET', c.count, 'token') or 0)
  local first, left = counter, n + PUT_OFF
  for rank = RANKS - 1, 0, -1 do
    while #granted < n and left > 0 do
      local names = call('ZRANGE', c.ready .. rank, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, n - #granted)
      if #names == 0 then break end
      left = left - #names
      for _, name in ipairs(names) do
        local token = string.format('%.0f', (counter + 1) * partitions + partition)
        local told = grant(c, name, token, args[2], tonumber(args[3]), tonumber(args[4]))
        if told then
          counter = counter + 1
          granted[#granted + 1] = told
        end
      end
    end
  end
  bump(c, 'token', counter - first)
  close(c)
  return granted
end

-- args: lease_ms, token, ...
local function renew(keys, args)
  local c = open(keys)
  for i = 2, #args do call('ZADD', c.deadlines, 'XX', c.now + args[1], args[i]) end
end

-- args: for each exchange: token, how long the host took to answer (-1: it did not)
local function release(keys, args)
  local c = open(keys)
  for i = 1, #args, 2 do
    local l = read_lease(c, args[i])
    if l and not l.released then
      l.released = true
      call('HSET', c.leases, args[i], pack_lease(l))
      local h = read_host(c, l.host)
      local took = tonumber(args[i + 1])
      if took >= 0 then
        h.smooth = h.smooth == 0 and min(took, 4294967295) or floor((7 * h.smooth + min(took, 600000)) / 8)
      end
      end_exchange(h, c.now)
      settle_host(c, h)
    end
  end
  close(c)
end

-- args: for each lease: token, outcome, reason, retry_after_ms (negative: doubling), hold_ms, fault, sketch (2 bytes),
-- entry of the next visit ('': none), when that is due by TIME. Returns for each 1 if it was accepted.
local function settle(keys, args)
  local c = open(keys)
  local accepted = {}
  for i = 1, #args, 9 do
    local token, outcome, reason, wait = args[i], args[i + 1], args[i + 2], tonumber(args[i + 3])
    local l = read_lease(c, token)
    if not l or l.kind ~= PAGE then
      accepted[#accepted + 1] = 0
    else
      local h = finish(c, token, l, c.now)
      local fault, hold = args[i + 5], tonumber(args[i + 4])
      if outcome == 'retry' then
        local attempt = byte(l.subject, 5)
        if wait < 0 then wait = RETRY_MS * 2 ^ attempt end
        attempt = attempt + 1
        if attempt >= MAX_ATTEMPTS then
          conclude(c, 'failed', reason, 1)
        else
          local entry = sub(l.subject, 1, 4) .. char(attempt) .. sub(l.subject, 6)
          call('ZADD', c.later, c.now + wait, l.host .. '\0' .. entry)
          bump(c, 'later', 1)
        end
      else
        conclude(c, outcome, reason, 1)
        if args[i + 7] ~= '' then
          call('ZADD', c.prefix .. 'visits', args[i + 8], l.host .. '\0' .. args[i + 7])
          bump(c, 'scheduled', 1)
        end
      end
      if ANSWERS[outcome] or fault ~= '' or hold > 0 then judge(c, h, fault, hold) end
      if args[i + 6] ~= '' then hear(c, h, l.subject, args[i + 6]) end
      settle_host(c, h)
      accepted[#accepted + 1] = 1
    end
  end
  close(c)
  return accepted
end

-- args: token, wait_ms: no exchange took place, and the host waits so long
local function postpone(keys, args)
  local c = open(keys)
  local l = read_lease(c, args[1])
  if not l or l.released then return 0 end
  local h = finish(c, args[1], l, 0)
  h.held = max(h.held, c.now + args[2])
  if l.kind == PAGE then
    if has(h.flags, DEAD) then conclude(c, 'failed', 'host_dead', 1) else put_back(c, h, l.subject) end
  end
  settle_host(c, h)
  close(c)
  return 1
end

-- args: address, delay_ms, slot: until when the host was held, 0 for not at all. Returns 0, or how long to wait.
local function enter(keys, args)
  local c = open(keys)
  local delay, slot = tonumber(args[2]), tonumber(args[3])
  local text = call('HGET', c.prefix .. 'ips', args[1])
  local last, line = 0, 0
  if text then last, line = unpack_('>I6I6', text) end
  last = max(last, c.since)
  local free = last == 0 or last + delay <= c.now
  local wait = 0
  if free and (line <= c.now or slot > 0) then
    last = c.now
  else
    line = max(line, last, c.now - delay) + delay
    wait = line - c.now
  end
  call('HSET', c.prefix .. 'ips', args[1], pack('>I6I6', last, line))
  return wait
end

-- args: token, rule, body, ttl_ms, delay_ms
local function settle_robots(keys, args)
  local c = open(keys)
  local l = read_lease(c, args[1])
  if not l or l.kind ~= ROBOTS_TXT then return end
  local delay = tonumber(args[5])
  store_robots(c, l.subject, args[2], args[3], tonumber(args[4]))
  local h = finish(c, args[1], l, c.now)
  if args[2] ~= 'disallow' then judge(c, h, '', 0) end
  if delay > h.delay or l.subject == h.slowest then h.delay, h.slowest = delay, l.subject end
  settle_host(c, h)
  close(c)
end

-- args: token, after_ms, fault ('': the answer was of no use)
local function retry_robots(keys, args)
  local c = open(keys)
  local l = read_lease(c, args[1])
  if not l or l.kind ~= ROBOTS_TXT then return end
  local r = read_robots(c, l.subject)
  r.attempt, r.expiries = r.attempt + 1, 0
  write_robots(c, l.subject, r)
  local h = finish(c, args[1], l, c.now)
  if args[3] ~= '' then judge(c, h, args[3], 0) end
  h.held = max(h.held, c.now + args[2])
  settle_host(c, h)
  close(c)
end

-- args: worker ; returns how many leases went back
local function reclaim(keys, args)
  local c = open(keys)
  local all, held = call('HGETALL', c.leases), {}
  for i = 1, #all, 2 do
    local l = parse_lease(all[i + 1])
    if l.worker == args[1] then held[#held + 1] = {tonumber(all[i]), all[i], l} end
  end
  table.sort(held, function(a, b) return a[1] > b[1] end) -- the last first: each goes before those that are there
  for _, lease_ in ipairs(held) do abandon(c, lease_[2], lease_[3], c.now, false) end
  close(c)
  return #held
end

-- args: worker
local function leases(keys, args)
  local c = look(keys)
  local all, found = call('HGETALL', c.leases), {}
  for i = 1, #all, 2 do
    local l = parse_lease(all[i + 1])
    if l.worker == args[1] then
      found[#found + 1] = tell(c, all[i], l, tonumber(call('ZSCORE', c.deadlines, all[i])), 0)
    end
  end
  return found
end

-- Workers that hold a lease.
local function holders(keys)
  local workers, found = {}, {}
  for _, text in ipairs(call('HVALS', keys[1])) do workers[parse_lease(text).worker] = true end
  for worker in pairs(workers) do found[#found + 1] = worker end
  return found
end

-- args: host, ms (negative: no longer)
local function hold(keys, args)
  local c = open(keys)
  local h = read_host(c, args[1])
  if not h then return 0 end
  local ms = tonumber(args[2])
  if ms < 0 then
    if h.trips > 0 then bump(c, 'held', -1) end
    h.held, h.faults, h.trips = 0, 0, 0
    if has(h.flags, DEAD) then
      unset(h, DEAD)
      bump(c, 'dead', -1)
    end
    unready(c, h)
  else
    h.held = max(h.held, min(c.now + ms, FOREVER))
  end
  settle_host(c, h)
  close(c)
  return 1
end

-- args: cursor, n ; the next cursor, and names of hosts
local function scan(keys, args)
  return call('HSCAN', keys[1], args[1], 'COUNT', args[2], 'NOVALUES')
end

-- args: rank, host, ...
local function rank(keys, args)
  local c = open(keys)
  for i = 2, #args do
    local h = read_host(c, args[i])
    if h then
      unready(c, h)
      h.rank = tonumber(args[1])
      settle_host(c, h)
    end
  end
end

-- args: rank, domain ; of hosts to come
local function rank_domain(keys, args)
  local c = open(keys)
  local d = read_domain(c, args[2])
  d.rank = tonumber(args[1])
  write_domain(c, d)
end

-- args: host, ... ; what waits of them is not wanted any more. Returns how many that was.
local function drop(keys, args)
  local c = open(keys)
  local dropped = 0
  for _, name in ipairs(args) do
    local h = read_host(c, name)
    if h then
      dropped = dropped + bury(c, h, 'refused', 'dropped')
      settle_host(c, h)
    end
  end
  close(c)
  return dropped
end

-- args: scope ; nothing of it is granted any more, or let in
local function bar(keys, args)
  local c = open(keys)
  call('HSET', c.prefix .. 'bars', args[1], 1)
end

-- args: n, entries ; of some hosts, the turn and the beginning of the back
local function overflow(keys, args)
  local c = open(keys)
  local found = {}
  for _, name in ipairs(call('SRANDMEMBER', c.prefix .. 'spill', args[1])) do
    local h = read_host(c, name)
    found[#found + 1] = {name, h.turn, call('LRANGE', queue(c, h), h.head, h.head + min(h.back, args[2]) - 1)}
  end
  return found
end

-- args: name of the segment, then for each host: name, turn, entries, number of runs, run, ... (their segment is 0).
-- Returns for how many hosts it lies in storage now.
local function spill(keys, args)
  local c = open(keys)
  local id, live, hosts = call('HINCRBY', c.count, 'segment', 1), 0, 0
  local i = 2
  while i <= #args do
    local h, turn, n, of = read_host(c, args[i]), tonumber(args[i + 1]), tonumber(args[i + 2]), tonumber(args[i + 3])
    if h and h.turn == turn and h.back >= n then
      local key = queue(c, h)
      local rest = call('LRANGE', key, h.head + n, -1)
      if h.head > 0 then call('LTRIM', key, 0, h.head - 1) else call('DEL', key) end
      for first = 1, #rest, 500 do call('RPUSH', key, unpack(rest, first, min(first + 499, #rest))) end
      for j = i + 4, i + 3 + of do call('RPUSH', runs(c, h), pack('>I4', id) .. sub(args[j], 5)) end
      h.back, h.tail, h.turn = h.back - n, h.tail + n, (h.turn + 1) % 256
      bump(c, 'tail', n)
      live, hosts = live + of, hosts + 1
      watch_back(c, h)
      watch_head(c, h)
      write_host(c, h)
    end
    i = i + 4 + of
  end
  if live > 0 then
    call('HSET', c.prefix .. 'segments', id, live .. ' ' .. args[1])
  else
    call('SADD', c.prefix .. 'empty', args[1])
  end
  close(c)
  return hosts
end

-- args: n ; of some hungry hosts, the run to be read next and the name of its segment
local function hungry(keys, args)
  local c = open(keys)
  local found = {}
  for _, name in ipairs(call('SRANDMEMBER', c.prefix .. 'hungry', args[1])) do
    local best, lowest
    for _, run in ipairs(call('LRANGE', c.prefix .. 'r:' .. name, 0, 15)) do
      local _, _, _, _, level = unpack_(RUN, run)
      if not best or level < lowest then best, lowest = run, level end
    end
    local text = call('HGET', c.prefix .. 'segments', tostring((unpack_(RUN, best))))
    found[#found + 1] = {name, best, string.match(text, '^%d+ (.*)$')}
  end
  return found
end

-- args: host, run, entry, ... : the run's entries are in the head again; without any the run cannot be read, and its
-- pages have failed. Returns 1 where the run was still to be read.
local function refill(keys, args)
  local c = open(keys)
  local h = read_host(c, args[1])
  if not h or call('LREM', runs(c, h), 1, args[2]) == 0 then return 0 end
  local _, _, _, n = unpack_(RUN, args[2])
  h.tail = h.tail - n
  bump(c, 'tail', -n)
  forget_run(c, args[2])
  if #args == 2 then
    conclude(c, 'failed', 'tail_lost', n)
    h.waiting = h.waiting - n
    bump(c, 'waiting', -n)
  else
    local entries = h.head > 0 and call('LRANGE', queue(c, h), 0, h.head - 1) or {}
    for i = 3, #args do entries[#entries + 1] = args[i] end
    new_head(c, h, by_level(entries))
  end
  unset(h, HUNGRY)
  call('SREM', c.prefix .. 'hungry', h.name)
  watch_head(c, h)
  settle_host(c, h)
  close(c)
  return 1
end

-- args: name, ... ; these segments are deleted. Without any: segments that are to be, and those that are needed.
local function segments(keys, args)
  local c = open(keys)
  if #args > 0 then
    call('SREM', c.prefix .. 'empty', unpack(args))
    return {}
  end
  local live = call('HVALS', c.prefix .. 'segments')
  for i, text in ipairs(live) do live[i] = string.match(text, '^%d+ (.*)$') end
  return {call('SMEMBERS', c.prefix .. 'empty'), live}
end

-- args: origin ; version, rule, body
local function robots(keys, args)
  local prefix = sub(keys[1], 1, -7)
  local r = read_robots({robots = keys[1]}, args[1])
  return {r.version, RULE_NAMES[r.rule], call('HGET', prefix .. 'bodies', args[1]) or ''}
end

local COUNTERS = {'waiting', 'leased', 'later', 'hosts', 'added', 'tail', 'scheduled', 'held', 'dead'}

local function stats(keys)
  local c = look(keys)
  local told = call('HMGET', c.count, unpack(COUNTERS))
  for i = 1, #COUNTERS do told[i] = tonumber(told[i] or 0) end
  told[#told + 1] = call('HLEN', c.leases) - told[2]
  for _, hash in ipairs({'outcomes', 'reasons', 'discarded'}) do told[#told + 1] = call('HGETALL', c.prefix .. hash) end
  return told
end

-- Deletes some of the crawl's keys; returns how many hosts are left.
local function forget(keys, args)
  local c = look(keys)
  local names = call('HRANDFIELD', c.hosts, args[1])
  for _, name in ipairs(names) do
    call('UNLINK', c.prefix .. 'q:' .. name, c.prefix .. 'r:' .. name)
    call('HDEL', c.hosts, name)
  end
  local left = call('HLEN', c.hosts)
  if left == 0 then
    for _, key in ipairs({'count', 'hosts', 'later', 'visits', 'leases', 'deadlines', 'robots', 'bodies', 'seen', 'domains',
      'rings', 'standings', 'outcomes', 'reasons', 'discarded', 'bars', 'spill', 'hungry', 'segments', 'empty', 'ips', 'flow', 'stalls',
      'beats', 'meta'}) do call('UNLINK', c.prefix .. key) end
    for n = 0, RANKS - 1 do call('UNLINK', c.ready .. n) end
  end
  return left
end

-- The home -------------------------------------------------------------------------------------------------

-- args: partitions, version ; what the crawl was made with, by whoever was first
local function make(keys, args)
  local meta = sub(keys[1], 1, -6) .. 'meta'
  call('HSETNX', meta, 'partitions', args[1])
  call('HSETNX', meta, 'version', args[2])
  return call('HMGET', meta, 'partitions', 'version')
end

local function integer(number) return string.format('%.0f', number) end

-- The newest report while its time lasts, else nil.
local function read_flow(c)
  local f = call('HMGET', c.prefix .. 'flow', 'follower', 'backlog', 'limit', 'from', 'reported', 'until', 'shut', 'archived')
  if not f[1] or tonumber(f[6]) <= c.now then return nil end
  local archived = tonumber(f[8] or 0)
  return {
    follower = f[1],
    backlog = tonumber(f[2]), -- bytes, as reported
    limit = tonumber(f[3]),
    estimate = tonumber(f[2]) + archived - tonumber(f[4]), -- and what was archived since
    reported = tonumber(f[5]),
    shut = f[7] == '1',
  }
end

local function tell_flow(f)
  return {f.follower, f.backlog, f.limit, f.estimate, f.reported, f.shut and 1 or 0}
end

-- args: bytes, on their way to those who follow
local function archived(keys, args)
  local c = open(keys)
  call('HINCRBY', c.prefix .. 'flow', 'archived', args[1])
  local f = read_flow(c)
  if f and f.estimate > f.limit then call('HSET', c.prefix .. 'flow', 'shut', '1') end
end

-- args: follower, backlog, limit, ttl_ms ; the flow from now on
local function follow(keys, args)
  local c = open(keys)
  local before = read_flow(c)
  local backlog, limit = tonumber(args[2]), tonumber(args[3])
  local shut = backlog > limit or (before ~= nil and before.shut and backlog > limit * OPENS_AT)
  local key = c.prefix .. 'flow'
  call('HSET', key, 'follower', args[1], 'backlog', args[2], 'limit', args[3],
    'from', call('HGET', key, 'archived') or '0', 'reported', integer(c.wall),
    'until', integer(c.now + args[4]), 'shut', shut and '1' or '0')
  return tell_flow(read_flow(c))
end

-- args: follower
local function unfollow(keys, args)
  local key = open(keys).prefix .. 'flow'
  if call('HGET', key, 'follower') == args[1] then
    call('HDEL', key, 'follower', 'backlog', 'limit', 'from', 'reported', 'until', 'shut')
  end
end

local function flow(keys)
  local f = read_flow(look(keys))
  return f and tell_flow(f) or {}
end

-- args: worker, ttl_ms, for how long it waits for its storage (-1: it does not)
local function beat(keys, args)
  local c = open(keys)
  local beats, stalls = c.prefix .. 'beats', c.prefix .. 'stalls'
  for _, worker in ipairs(call('ZRANGE', beats, '-inf', c.now, 'BYSCORE')) do
    call('ZREM', beats, worker)
    call('ZREM', stalls, worker)
  end
  call('ZADD', beats, c.now + args[2], args[1])
  if tonumber(args[3]) < 0 then
    call('ZREM', stalls, args[1])
  else
    call('ZADD', stalls, c.now - args[3], args[1])
  end
end

-- args: worker
local function leave(keys, args)
  local c = open(keys)
  call('ZREM', c.prefix .. 'beats', args[1])
  call('ZREM', c.prefix .. 'stalls', args[1])
end

-- For how long each living worker that waits for its storage has done so, in milliseconds.
local function stalls(keys)
  local c, found = look(keys), {}
  local pairs_ = call('ZRANGE', c.prefix .. 'stalls', 0, -1, 'WITHSCORES')
  for i = 1, #pairs_, 2 do
    local till = call('ZSCORE', c.prefix .. 'beats', pairs_[i])
    if till and tonumber(till) > c.now then found[#found + 1] = c.now - tonumber(pairs_[i + 1]) end
  end
  return found
end

-- args: worker, ... ; those among them that were heard of in time
local function alive(keys, args)
  local c, found = look(keys), {}
  for _, worker in ipairs(args) do
    local till = call('ZSCORE', c.prefix .. 'beats', worker)
    if till and tonumber(till) > c.now then found[#found + 1] = worker end
  end
  return found
end

-- args: worker, ttl_ms ; 1 where it keeps the tail for so long, 0 where another does
local function keep(keys, args)
  local c = open(keys)
  local key = c.prefix .. 'meta'
  local f = call('HMGET', key, 'keeper', 'kept')
  if f[1] and f[1] ~= args[1] and tonumber(f[2]) > c.now then return 0 end
  call('HSET', key, 'keeper', args[1], 'kept', integer(c.now + args[2]))
  return 1
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

verb('add', add)
verb('lease', lease)
verb('renew', renew, FREES)
verb('release', release, FREES)
verb('settle', settle, FREES)
verb('postpone', postpone, FREES)
verb('enter', enter)
verb('settle_robots', settle_robots, FREES)
verb('retry_robots', retry_robots, FREES)
verb('reclaim', reclaim, FREES)
verb('leases', leases, READS)
verb('holders', holders, READS)
verb('hold', hold)
verb('scan', scan, READS)
verb('rank', rank)
verb('rank_domain', rank_domain)
verb('drop', drop, FREES)
verb('bar', bar)
verb('overflow', overflow, FREES)
verb('spill', spill, FREES)
verb('hungry', hungry)
verb('refill', refill)
verb('segments', segments, FREES)
verb('robots', robots, READS)
verb('stats', stats, READS)
verb('forget', forget, FREES)
verb('make', make)
verb('archived', archived, FREES)
verb('follow', follow)
verb('unfollow', unfollow)
verb('flow', flow, READS)
verb('beat', beat)
verb('leave', leave)
verb('stalls', stalls, READS)
verb('alive', alive, READS)
verb('keep', keep)
