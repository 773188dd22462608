local open, look

local nonce -- of this library in this server: it changes with a restart, a failover or a move to another node

do -- names for this file only: a chunk has at most 200 local names

local LEAP_MS = 15000 -- ms; a longer time without a call may be a clock that was set, and counts as no time
local LOST_TOKENS = 1048576 -- more than the tokens that a crash may lose; added if TIME is behind the tokens
local TOKENS_A_MS = 64 -- of a partition: tokens follow TIME, so that neither of two crashes,
local TOKENS_SINCE = 1735689600000 -- nor a forgotten crawl, makes one twice. From 2025: with 64
-- partitions they stay below 2^53 until 2094
local HOLD_MS = 1500 -- after a restart nothing is granted while clients repeat the calls that the server forgot
-- (frontier/verbs/journal.py). Clients repeat a call without a reply within a second (frontier/link/call_retry.py)
local BIRTHS = 16 -- remembered of a partition

local function wall_ms()
  local time = call('TIME')
  nonce = nonce or time[1] .. '.' .. time[2]
  return time[1] * 1000 + floor(time[2] / 1000)
end

local function at(prefix, now, wall, since)
  return {
    now = now, -- the steady clock, in ms: delays, leases and holds run on it
    soon = now + 1, -- a time that ends now has ended by then: a millisecond is not over before the next
    wall = wall, -- TIME: robots.txt goes stale by it, and visits fall due
    since = since, -- grants before this time are not known for certain
    prefix = prefix, n = {}, tallies = {}, puts = {}, scores = {}, cache = {}, read = {}, texts = {}, owners = {}, prints = {}, tables = {},
    hosts = prefix .. 'hosts', domains = prefix .. 'domains', leases = prefix .. 'leases', deadlines = prefix .. 'deadlines', seen = prefix .. 'seen',
    robots = prefix .. 'robots', count = prefix .. 'count', later = prefix .. 'later', ready = prefix .. 'ready:',
  }
end

-- Nobody has made this partition or home, or somebody has emptied the server (frontier/link/lost_frontier.py).
local function gone() error({err = 'NOFRONTIER nothing is here'}) end

-- For each restart: the nonce after it, and the time of the last write that survived it, by the steady clock.
local function birth(births, steady)
  local found = {}
  for each in string.gmatch(births or '', '%S+') do found[#found + 1] = each end
  found[#found + 1] = nonce .. ':' .. string.format('%.0f', steady)
  return table.concat(found, ' ', max(1, #found - BIRTHS + 1))
end

-- A function that changes something begins with this; `close` ends it.
function open(keys)
  local key = keys[1]
  local wall = wall_ms()
  local f = call('HMGET', key, 'steady', 'wall', 'born', 'since', 'starved', 'delay', 'traps', 'births', 'quiet', 'taken')
  if not f[3] then gone() end
  local now, since = tonumber(f[1]) or wall, tonumber(f[4]) or 0
  local elapsed = wall - (tonumber(f[2]) or wall)
  if elapsed > 0 and elapsed <= LEAP_MS then now = now + elapsed end
  if f[3] ~= nonce then
    call('HSET', key, 'births', birth(f[8], tonumber(f[1]) or 0))
    if f[3] ~= '' then since = now end
    f[9] = call('EXISTS', sub(key, 1, -6) .. 'leases', sub(key, 1, -6) .. 'askers') > 0 and now + HOLD_MS or 0
    call('HSET', key, 'quiet', f[9])
    local token, first = tonumber(call('HGET', key, 'token') or 0), (wall - TOKENS_SINCE) * TOKENS_A_MS
    call('HSET', key, 'token', first > token and first or token + LOST_TOKENS)
  end
  call('HSET', key, 'steady', now, 'wall', wall, 'born', nonce, 'since', since)
  local c = at(sub(key, 1, -6), now, wall, since)
  c.quiet = tonumber(f[9] or 0) -- until when nothing is granted, after a restart
  c.starved = tonumber(f[5] or 0) -- domains
  c.delay = tonumber(f[6] or 1000) -- ms between two exchanges with a host (CrawlSettings)
  c.traps = f[7] or '1' -- where traps are looked for (HostSwitch)
  c.taken = tonumber(f[10] or 0) -- number of workers
  return c
end

-- A function that only reads begins with this.
function look(keys)
  local wall = wall_ms()
  local f = call('HMGET', keys[1], 'steady', 'wall', 'since', 'taken', 'born', 'starved', 'traps')
  if not f[5] then gone() end
  local now = tonumber(f[1]) or wall
  local elapsed = wall - (tonumber(f[2]) or wall)
  if elapsed > 0 and elapsed <= LEAP_MS then now = now + elapsed end
  local c = at(sub(keys[1], 1, -6), now, wall, tonumber(f[3]) or 0)
  c.taken = tonumber(f[4] or 0)
  c.starved, c.traps = tonumber(f[6] or 0), f[7] or '1'
  return c
end

end

-- The life of the server in which a change was made, and its time: with them a client finds out whether it was
-- forgotten.
local function moment(c) return {nonce, c.now} end

-- For how many ms nothing is granted yet, after a restart.
local function held_back(c) return max(c.quiet - c.now, 0) end

local function integer(number) return string.format('%.0f', number) end

local function bump(c, counter, by) c.n[counter] = (c.n[counter] or 0) + by end

local function tally(c, hash, field, by)
  local t = c.tallies[hash]
  if not t then
    t = {}
    c.tallies[hash] = t
  end
  t[field] = (t[field] or 0) + by
end

local function close_counts(c)
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
