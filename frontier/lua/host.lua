local MAX_OPEN = 16 -- exchanges at once with a host that has no delay: it is ours, or a test
local RANKS = 4
local TURNS = 4294967296 -- more than can be taken from a back while a segment is put into storage

local HOST = '>I4I4I6I6I2BI4I2I4I4I4I4BBBI6I4BB'
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
