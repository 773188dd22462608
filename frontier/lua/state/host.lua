local MAX_OPEN = 16 -- exchanges at once with a host that has no delay: the host is ours, or a test's
local RANKS = 4
local TURNS = 4294967296 -- more than the entries taken from a back while a segment is put into storage

-- Why a host or an origin is asked nothing for a time. First faults; then kinds of faults (FAULT_DETAILS), of which
-- hosts die as well; then answers, and reasons that are no doing of the host.
local RESTS = {
  'dns', 'connect', 'reset', 'timeout', 'tls', 'dns_timeout', 'refused', 'unreachable', 'timeout_connect', 'timeout_first_byte',
  'timeout_tls', 'tls_expired', 'tls_self_signed', 'tls_wrong_host', 'busy', 'server', 'forbidden', 'status_403', 'status_429',
  'status_503', 'block_page', 'robots_unreachable', 'address', 'operator', 'login_ended',
}
local FAULT_KINDS, KINDS_END = 5, 14 -- the last code that is a fault; the last that is the kind of a fault
local REST_CODES = {}
for code = 1, #RESTS do REST_CODES[RESTS[code]] = code end

-- Return the code of a reason, or else of the fault that it explains.
local function rest_code(reason, fault) return REST_CODES[reason] or REST_CODES[fault] or 0 end

local BEFORE_ADDED = '>I4I4I6I6I2I2I4I2I4I4'
local HOST = BEFORE_ADDED .. 'I4I4BBBI6I4BBI4B'
local ASKING, ANSWERED, DEAD, HUNGRY, SPILLS, TRAPS, SEVERAL, FORBIDS, HEARS = 1, 2, 4, 8, 16, 32, 64, 128, 256

local function has(flags, flag) return floor(flags / flag) % 2 == 1 end

local function set(h, flag) if not has(h.flags, flag) then h.flags = h.flags + flag end end

local function unset(h, flag) if has(h.flags, flag) then h.flags = h.flags - flag end end

local function parse_host(name, text)
  local h = {name = name}
  local next
  h.delay, -- ms that robots rules ask for
  h.pace, -- the delay of the last lease
  h.last, -- when the last exchange ended
  h.held, -- the host is asked nothing before this time
  h.open, -- exchanges under way, including robots.txt
  h.flags,
  h.waiting, -- entries in all: head, back and tail
  h.head,
  h.back,
  h.tail, -- entries in storage
  h.added, -- fingerprints ever added
  h.smooth, -- ms that it takes to answer; smoothed as RFC 6298 smooths round trips
  h.faults, -- failed exchanges in a row; for a dead host, what it died of
  h.trips, -- openings of the circuit in a row
  h.rank,
  h.due, -- its score in `ready`; 0 if it is not there
  h.turn, -- changes when entries are taken from the back
  h.standing, -- see `novelty.lua`
  h.owned, -- length of its registered domain, with which its name ends
  h.again, -- those of `added` whose URLs wait once more
  h.why, -- code of RESTS: why nothing is asked before `held`; 0 if that is not known
  next = unpack_(HOST, text)
  h.slowest = sub(text, next) -- the origin whose robots rules ask for the delay
  return h
end

-- The host of a name; one table throughout the function. Nil if there is none.
local function read_host(c, name)
  local h = c.cache[name]
  if h == nil then
    local text = c.texts[name]
    if text == nil then text = call('HGET', c.hosts, name) end
    h = text and parse_host(name, text)
    c.cache[name] = h
  end
  return h or nil
end

local function read_hosts(c, names)
  local fresh = {}
  for _, name in ipairs(names) do
    if c.cache[name] == nil then
      c.cache[name] = false
      fresh[#fresh + 1] = name
    end
  end
  for i, text in ipairs(get_many(c.hosts, fresh)) do
    if text then c.cache[fresh[i]] = parse_host(fresh[i], text) end
  end
end

local function new_host(name, domain, rank)
  return {
    name = name, delay = 0, pace = 0, last = 0, held = 0, open = 0, flags = 0, waiting = 0, head = 0, back = 0, tail = 0,
    added = 0, smooth = 0, faults = 0, trips = 0, rank = rank, due = 0, turn = 0, standing = HOST_FIRST, owned = #domain, again = 0, why = 0,
    slowest = '',
  }
end

local function write_host(c, h)
  c.cache[h.name] = h
  put(c, c.hosts, h.name, h)
end

local function pack_host(h)
  return pack(HOST, h.delay, h.pace, h.last, h.held, h.open, h.flags, h.waiting, h.head, h.back, h.tail, h.added, h.smooth,
    h.faults, h.trips, h.rank, h.due, h.turn, h.standing, h.owned, h.again, h.why) .. h.slowest
end

-- A function that changes something ends with this.
local function close(c)
  for name, h in pairs(pending(c.puts, c.hosts)) do put(c, c.hosts, name, pack_host(h)) end
  for name, d in pairs(pending(c.puts, c.domains)) do put(c, c.domains, name, pack_domain(d)) end
  write_scores(c)
  write_puts(c)
  close_counts(c)
end

local function capacity(h, pace)
  if pace > 0 or h.trips > 0 then return 1 end -- half open: a single probe
  return MAX_OPEN
end

local function unready(c, h)
  if h.due > 0 then
    score(c, c.ready .. h.rank, h.name, false)
    h.due = 0
  end
end

-- Return when a host may be asked again, at a pace.
local function after_last(c, h, pace)
  if pace == 0 then return 0 end
  local last = max(h.last, c.since)
  return last > 0 and last + pace or 0
end

local FOREVER = 281474976710655 -- 2^48 - 1
local LONGEST_DELAY = 4294967295 -- 2^32 - 1: 49 days

-- `why` is a code of RESTS.
local function hold(c, h, ms, why)
  local till = min(c.soon + ms, FOREVER)
  if ms > 0 and till > h.held then h.held, h.why = till, why end
end

-- The only place that decides whether a host may be asked, and when. Entries that wait at a dead host are given up at
-- once. A host that waits already keeps its turn; if it waits for an origin that rests, another origin may come first.
local function place(c, h)
  local pace = max(h.delay, h.open > 0 and h.pace or 0)
  if has(h.flags, DEAD) and h.head > 0 then
    score(c, c.ready .. h.rank, h.name, c.now)
    h.due = c.now
    return
  end
  if h.head == 0 or h.open >= capacity(h, pace) or has(h.flags, ASKING) then return unready(c, h) end
  local when = max(h.held, after_last(c, h, max(h.delay, h.pace)), c.now)
  local sooner = h.due > c.now and when < h.due and has(h.flags, SEVERAL)
  if h.due == 0 or (when > c.now and when > h.due) or sooner then
    score(c, c.ready .. h.rank, h.name, when)
    h.due = when
  end
end
