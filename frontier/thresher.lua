#!lua name=thresher
--[[ The frontier's verbs. Each function is atomic, and the server's TIME is the only clock.

Keys, the same for every function, all of one crawl:
  urls       hash  id -> record while the page is open, its outcome afterwards
  waiting    zset  host \0 level seq id, ordered by bytes: the queues of all hosts, one after the other
  later      zset  id -> when the page is tried again
  ready      zset  host -> when it may be asked, or since when it waits to be
  hosts      hash  host -> state (see read_host)
  leases     hash  token -> lease (see read_lease)
  deadlines  zset  token -> deadline
  robots     hash  origin -> state of its robots.txt (see read_robots)
  bodies     hash  origin -> robots.txt as last fetched
  count      hash  token, seq, leased
  outcomes   hash  outcome -> pages
  reasons    hash  outcome:reason -> pages
  flow       hash  archived -> bytes, and the newest report of a follower (see read_flow)
  stalls     zset  worker -> since when it waits for its storage
  beats      zset  worker -> until when it is taken for living

Rules:
  1. An id in `urls` is in exactly one place: waiting, later, one lease, or settled.
  2. A host is in `ready` exactly when something of it waits, no robots.txt of it is being fetched, and it
     has fewer open leases than its pace allows. Only `place` and `grant` write `ready`.
  3. A host with a delay has at most one exchange open, and the next begins no sooner than the delay after
     the end of the last: its release, or the deadline of the lease that was never released.
  4. A page is granted only under a fresh robots record of its origin.
  5. A token that is not in `leases` changes nothing.
  6. While the gate is shut nothing is granted. It is shut by what was archived since a report, or by a report,
     and opened by a report or by the end of the last one's time.
]]

local MAX_OPEN = 16 -- exchanges at once with a host that has no delay: it is ours, or a test
local MAX_ATTEMPTS = 3 -- Nutch: db.fetch.retry.max
local MAX_EXPIRIES = 5 -- a page that kills five workers is the killer
local RETRY_MS = 30000 -- doubles with every attempt
local UNREADABLE_MS = 86400000 -- RFC 9309, section 2.4: robots.txt is not kept for longer than a day
local SWEEP = 1000 -- expired leases, and due pages, taken up by one call
local OPENS_AT = 4 / 5 -- of the limit: a gate that opened at the limit would flutter
local LEVEL_ZERO = 2147483648 -- levels are signed; bytes are not

local function split(text)
  local fields = {}
  for field in string.gmatch(text, '[^\t]+') do fields[#fields + 1] = field end
  return fields
end

local function open(keys)
  local time = redis.call('TIME')
  return {
    now = time[1] * 1000 + math.floor(time[2] / 1000),
    urls = keys[1], waiting = keys[2], later = keys[3], ready = keys[4], hosts = keys[5], leases = keys[6],
    deadlines = keys[7], robots = keys[8], bodies = keys[9], count = keys[10], outcomes = keys[11],
    reasons = keys[12], flow = keys[13], stalls = keys[14], beats = keys[15],
  }
end

-- Hosts ----------------------------------------------------------------------------------------------------

local function read_host(c, name)
  local text = redis.call('HGET', c.hosts, name)
  if not text then
    return {name = name, delay = 0, slowest = '-', pace = 0, last = 0, held = 0, open = 0, asking = 0}
  end
  local f = split(text)
  return {
    name = name,
    delay = tonumber(f[1]), -- what robots rules ask for
    slowest = f[2], -- the origin whose rules these are
    pace = tonumber(f[3]), -- the delay that the last lease was granted under
    last = tonumber(f[4]), -- when the last exchange ended
    held = tonumber(f[5]), -- nothing is asked before
    open = tonumber(f[6]), -- exchanges under way, robots.txt included
    asking = tonumber(f[7]), -- 1 while a robots.txt is being fetched
  }
end

local function write_host(c, h)
  local text = string.format('%.0f\t%s\t%.0f\t%.0f\t%.0f\t%d\t%d',
    h.delay, h.slowest, h.pace, h.last, h.held, h.open, h.asking)
  redis.call('HSET', c.hosts, h.name, text)
end

local function first(c, host)
  return redis.call('ZRANGE', c.waiting, '[' .. host .. '\0', '(' .. host .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
end

local function capacity(pace) return pace > 0 and 1 or MAX_OPEN end

-- The one place that decides whether a host may be asked, and when. One that waits already keeps its turn.
local function place(c, h)
  local pace = math.max(h.delay, h.open > 0 and h.pace or 0)
  if h.asking == 1 or h.open >= capacity(pace) or not first(c, h.name) then
    redis.call('ZREM', c.ready, h.name)
    return
  end
  local at = math.max(h.held, h.last + math.max(h.delay, h.pace))
  local placed = tonumber(redis.call('ZSCORE', c.ready, h.name) or nil)
  if not placed or (at > c.now and at > placed) then
    redis.call('ZADD', c.ready, math.max(at, c.now), h.name)
  end
end

-- Pages ----------------------------------------------------------------------------------------------------

local function origin_of(text) return string.match(text, '^%w+://[^/]+') end

local function host_of(text) return (string.gsub(string.match(text, '^%w+://([^/]+)'), ':%d+$', '')) end

-- Puts a page at the end of its level and returns its host, which the caller places.
local function enqueue(c, id, fields)
  local level = tonumber(fields[4]) - tonumber(fields[5])
  local host = host_of(fields[9])
  local seq = redis.call('HINCRBY', c.count, 'seq', 1)
  redis.call('ZADD', c.waiting, 0, host .. '\0' .. struct.pack('>I4I6', LEVEL_ZERO + level, seq) .. id)
  return host
end

local function conclude(c, id, outcome, reason)
  redis.call('HSET', c.urls, id, outcome)
  redis.call('HINCRBY', c.outcomes, outcome, 1)
  if reason ~= '' then redis.call('HINCRBY', c.reasons, outcome .. ':' .. reason, 1) end
end

-- Adds the id, record pairs that begin at args[from]; returns how many were unknown.
local function add_from(c, args, from)
  local added, touched, hosts = 0, {}, {}
  for i = from, #args, 2 do
    if redis.call('HSETNX', c.urls, args[i], args[i + 1]) == 1 then
      added = added + 1
      local host = enqueue(c, args[i], split(args[i + 1]))
      if not touched[host] then
        touched[host] = true
        hosts[#hosts + 1] = host
      end
    end
  end
  for _, name in ipairs(hosts) do
    local h = read_host(c, name)
    write_host(c, h)
    place(c, h)
  end
  return added
end

-- Robots ---------------------------------------------------------------------------------------------------

local function read_robots(c, origin)
  local text = redis.call('HGET', c.robots, origin)
  if not text then return {version = 0, expires = 0, rule = '-', attempt = 0, expiries = 0} end
  local f = split(text)
  return {
    version = tonumber(f[1]),
    expires = tonumber(f[2]),
    rule = f[3],
    attempt = tonumber(f[4]), -- times in a row that it could not be had
    expiries = tonumber(f[5]), -- times in a row that its worker was not heard of again
  }
end

local function write_robots(c, origin, r)
  local text = string.format('%d\t%.0f\t%s\t%d\t%d', r.version, r.expires, r.rule, r.attempt, r.expiries)
  redis.call('HSET', c.robots, origin, text)
end

local function store_robots(c, origin, rule, body, ttl)
  local version = read_robots(c, origin).version + 1
  write_robots(c, origin, {version = version, expires = c.now + ttl, rule = rule, attempt = 0, expiries = 0})
  redis.call('HSET', c.bodies, origin, body)
end

-- Leases ---------------------------------------------------------------------------------------------------

local function parse_lease(text)
  local kind, released, host, subject, worker = string.match(text, '^(%a+)\t(%d)\t([^\t]+)\t([^\t]+)\t(.*)$')
  return {kind = kind, released = released == '1', host = host, subject = subject, worker = worker}
end

local function read_lease(c, token)
  local text = redis.call('HGET', c.leases, token)
  return text and parse_lease(text)
end

local function write_lease(c, token, l)
  local text = table.concat({l.kind, l.released and '1' or '0', l.host, l.subject, l.worker}, '\t')
  redis.call('HSET', c.leases, token, text)
end

local function end_exchange(h, at)
  h.open = h.open - 1
  h.last = math.max(h.last, at)
end

-- Ends a lease whose exchange was over at `at` at the latest; returns its host, to be changed, written, placed.
local function finish(c, token, l, at)
  redis.call('HDEL', c.leases, token)
  redis.call('ZREM', c.deadlines, token)
  local h = read_host(c, l.host)
  if not l.released then end_exchange(h, at) end
  if l.kind == 'page' then
    redis.call('HINCRBY', c.count, 'leased', -1)
  else
    h.asking = 0
  end
  return h
end

-- Ends a lease that nobody settled.
local function abandon(c, token, l, at, expired)
  local h = finish(c, token, l, at)
  local strike = expired and 1 or 0
  if l.kind == 'page' then
    local fields = split(redis.call('HGET', c.urls, l.subject))
    fields[3] = tonumber(fields[3]) + strike
    if fields[3] >= MAX_EXPIRIES then
      conclude(c, l.subject, 'failed', 'lease_expired')
    else
      redis.call('HSET', c.urls, l.subject, table.concat(fields, '\t'))
      enqueue(c, l.subject, fields)
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
  write_host(c, h)
  place(c, h)
end

local function expire(c)
  local due = redis.call('ZRANGE', c.deadlines, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, SWEEP, 'WITHSCORES')
  for i = 1, #due, 2 do abandon(c, due[i], read_lease(c, due[i]), tonumber(due[i + 1]), true) end
end

local function wake(c)
  for _, id in ipairs(redis.call('ZRANGE', c.later, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, SWEEP)) do
    redis.call('ZREM', c.later, id)
    place(c, read_host(c, enqueue(c, id, split(redis.call('HGET', c.urls, id)))))
  end
end

-- What a worker is told of a lease.
local function tell(c, token, l, deadline)
  if l.kind == 'page' then
    local record = redis.call('HGET', c.urls, l.subject)
    local r = read_robots(c, origin_of(split(record)[9]))
    return {token, l.kind, deadline, r.version, 0, record}
  end
  local r = read_robots(c, l.subject)
  return {token, l.kind, deadline, r.version, r.attempt, l.subject}
end

-- Grants one lease on a host that is ready, or takes it out of `ready`, or moves it to when it may be asked.
local function grant(c, name, worker, lease_ms, min_delay)
  local h = read_host(c, name)
  local pace = math.max(min_delay, h.delay)
  local member = first(c, name)
  if not member or h.asking == 1 or h.open >= capacity(pace) then
    redis.call('ZREM', c.ready, name)
    return nil
  end
  if h.last > 0 and h.last + pace > c.now then
    redis.call('ZADD', c.ready, h.last + pace, name)
    return nil
  end
  local id = string.sub(member, #name + 12) -- after the host, \0, level and seq
  local origin = origin_of(split(redis.call('HGET', c.urls, id))[9])
  local l = {kind = 'page', released = false, host = name, subject = id, worker = worker}
  if read_robots(c, origin).expires > c.now then
    redis.call('ZREM', c.waiting, member)
    redis.call('HINCRBY', c.count, 'leased', 1)
  else
    l.kind, l.subject, h.asking = 'robots', origin, 1
  end
  local token = redis.call('HINCRBY', c.count, 'token', 1)
  write_lease(c, token, l)
  redis.call('ZADD', c.deadlines, c.now + lease_ms, token)
  h.open, h.pace = h.open + 1, pace
  write_host(c, h)
  redis.call('ZREM', c.ready, name) -- its turn is over
  place(c, h)
  return tell(c, token, l, c.now + lease_ms)
end

-- Flow -----------------------------------------------------------------------------------------------------

local function integer(number) return string.format('%.0f', number) end

-- The newest report while its time lasts, else nil.
local function read_flow(c)
  local f = redis.call('HMGET', c.flow, 'follower', 'backlog', 'limit', 'from', 'reported', 'until', 'shut', 'archived')
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

-- The verbs ------------------------------------------------------------------------------------------------

-- args: id, record, ... ; returns how many were unknown
local function add(keys, args) return add_from(open(keys), args, 1) end

-- args: n, worker, lease_ms, min_delay_ms, limit (negative: none)
local function lease(keys, args)
  local c = open(keys)
  local n, limit = tonumber(args[1]), tonumber(args[5])
  expire(c)
  wake(c)
  local flow = read_flow(c)
  if flow and flow.shut then return {} end
  local taken = tonumber(redis.call('HGET', c.outcomes, 'fetched') or 0)
    + tonumber(redis.call('HGET', c.count, 'leased') or 0)
  local granted = {}
  while #granted < n do
    local names = redis.call('ZRANGE', c.ready, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, n - #granted)
    if #names == 0 then return granted end
    for _, name in ipairs(names) do
      if limit >= 0 and taken >= limit then return granted end
      local told = grant(c, name, args[2], tonumber(args[3]), tonumber(args[4]))
      if told then
        granted[#granted + 1] = told
        if told[2] == 'page' then taken = taken + 1 end
      end
    end
  end
  return granted
end

-- args: lease_ms, token, ...
local function renew(keys, args)
  local c = open(keys)
  for i = 2, #args do redis.call('ZADD', c.deadlines, 'XX', c.now + args[1], args[i]) end
end

-- args: token, ...
local function release(keys, args)
  local c = open(keys)
  for _, token in ipairs(args) do
    local l = read_lease(c, token)
    if l and not l.released then
      l.released = true
      write_lease(c, token, l)
      local h = read_host(c, l.host)
      end_exchange(h, c.now)
      write_host(c, h)
      place(c, h)
    end
  end
end

-- args: token, outcome, reason, retry_after_ms (negative: doubling), hold_ms, id, record, ... ; 1 if accepted
local function settle(keys, args)
  local c = open(keys)
  local token, outcome, reason, wait = args[1], args[2], args[3], tonumber(args[4])
  local l = read_lease(c, token)
  if not l or l.kind ~= 'page' then return 0 end
  add_from(c, args, 6)
  local h = finish(c, token, l, c.now)
  if tonumber(args[5]) > 0 then h.held = math.max(h.held, c.now + args[5]) end
  if outcome ~= 'retry' then
    conclude(c, l.subject, outcome, reason)
  else
    local fields = split(redis.call('HGET', c.urls, l.subject))
    if wait < 0 then wait = RETRY_MS * 2 ^ tonumber(fields[2]) end
    fields[2] = tonumber(fields[2]) + 1
    if fields[2] >= MAX_ATTEMPTS then
      conclude(c, l.subject, 'failed', reason)
    else
      redis.call('HSET', c.urls, l.subject, table.concat(fields, '\t'))
      redis.call('ZADD', c.later, c.now + wait, l.subject)
    end
  end
  write_host(c, h)
  place(c, h)
  return 1
end

-- args: token, rule, body, ttl_ms, delay_ms
local function settle_robots(keys, args)
  local c = open(keys)
  local l = read_lease(c, args[1])
  if not l or l.kind ~= 'robots' then return end
  local delay = tonumber(args[5])
  store_robots(c, l.subject, args[2], args[3], tonumber(args[4]))
  local h = finish(c, args[1], l, c.now)
  if delay > h.delay or l.subject == h.slowest then h.delay, h.slowest = delay, l.subject end
  write_host(c, h)
  place(c, h)
end

-- args: token, after_ms
local function retry_robots(keys, args)
  local c = open(keys)
  local l = read_lease(c, args[1])
  if not l or l.kind ~= 'robots' then return end
  local r = read_robots(c, l.subject)
  r.attempt, r.expiries = r.attempt + 1, 0
  write_robots(c, l.subject, r)
  local h = finish(c, args[1], l, c.now)
  h.held = math.max(h.held, c.now + args[2])
  write_host(c, h)
  place(c, h)
end

-- args: worker, ttl_ms, for how long it waits for its storage (-1: it does not)
local function beat(keys, args)
  local c = open(keys)
  for _, worker in ipairs(redis.call('ZRANGEBYSCORE', c.beats, '-inf', c.now)) do
    redis.call('ZREM', c.beats, worker)
    redis.call('ZREM', c.stalls, worker)
  end
  redis.call('ZADD', c.beats, c.now + args[2], args[1])
  if tonumber(args[3]) < 0 then
    redis.call('ZREM', c.stalls, args[1])
  else
    redis.call('ZADD', c.stalls, c.now - args[3], args[1])
  end
end

-- args: worker
local function leave(keys, args)
  local c = open(keys)
  redis.call('ZREM', c.beats, args[1])
  redis.call('ZREM', c.stalls, args[1])
end

-- For how long each living worker that waits for its storage has done so, in milliseconds.
local function stalls(keys)
  local c, found = open(keys), {}
  local pairs_ = redis.call('ZRANGE', c.stalls, 0, -1, 'WITHSCORES')
  for i = 1, #pairs_, 2 do
    local till = redis.call('ZSCORE', c.beats, pairs_[i])
    if till and tonumber(till) > c.now then found[#found + 1] = c.now - tonumber(pairs_[i + 1]) end
  end
  return found
end

-- args: worker, ... ; those among them that were heard of in time
local function alive(keys, args)
  local c, found = open(keys), {}
  for _, worker in ipairs(args) do
    local till = redis.call('ZSCORE', c.beats, worker)
    if till and tonumber(till) > c.now then found[#found + 1] = worker end
  end
  return found
end

-- Workers that hold a lease, each as often as it holds one.
local function holders(keys)
  local found = redis.call('HVALS', open(keys).leases)
  for i, text in ipairs(found) do found[i] = parse_lease(text).worker end
  return found
end

-- args: bytes, on their way to those who follow
local function archived(keys, args)
  local c = open(keys)
  redis.call('HINCRBY', c.flow, 'archived', args[1])
  local f = read_flow(c)
  if f and f.estimate > f.limit then redis.call('HSET', c.flow, 'shut', '1') end
end

-- args: follower, backlog, limit, ttl_ms ; the flow from now on
local function follow(keys, args)
  local c = open(keys)
  local before = read_flow(c)
  local backlog, limit = tonumber(args[2]), tonumber(args[3])
  local shut = backlog > limit or (before ~= nil and before.shut and backlog > limit * OPENS_AT)
  redis.call('HSET', c.flow, 'follower', args[1], 'backlog', args[2], 'limit', args[3],
    'from', redis.call('HGET', c.flow, 'archived') or '0', 'reported', integer(c.now),
    'until', integer(c.now + args[4]), 'shut', shut and '1' or '0')
  return tell_flow(read_flow(c))
end

-- args: follower
local function unfollow(keys, args)
  local c = open(keys)
  if redis.call('HGET', c.flow, 'follower') == args[1] then
    redis.call('HDEL', c.flow, 'follower', 'backlog', 'limit', 'from', 'reported', 'until', 'shut')
  end
end

local function flow(keys)
  local f = read_flow(open(keys))
  return f and tell_flow(f) or {}
end

-- args: worker ; returns how many leases went back
local function reclaim(keys, args)
  local c = open(keys)
  local all, reclaimed = redis.call('HGETALL', c.leases), 0
  for i = 1, #all, 2 do
    local l = parse_lease(all[i + 1])
    if l.worker == args[1] then
      abandon(c, all[i], l, c.now, false)
      reclaimed = reclaimed + 1
    end
  end
  return reclaimed
end

-- args: worker
local function leases(keys, args)
  local c = open(keys)
  local all, found = redis.call('HGETALL', c.leases), {}
  for i = 1, #all, 2 do
    local l = parse_lease(all[i + 1])
    if l.worker == args[1] then
      local deadline = tonumber(redis.call('ZSCORE', c.deadlines, all[i]))
      found[#found + 1] = tell(c, tonumber(all[i]), l, deadline)
    end
  end
  return found
end

-- args: origin ; version, rule, body
local function robots(keys, args)
  local c = open(keys)
  local r = read_robots(c, args[1])
  return {r.version, r.rule, redis.call('HGET', c.bodies, args[1]) or ''}
end

local function stats(keys)
  local c = open(keys)
  local leased = tonumber(redis.call('HGET', c.count, 'leased') or 0)
  return {
    redis.call('ZCARD', c.waiting), leased, redis.call('ZCARD', c.later), redis.call('HLEN', c.leases) - leased,
    redis.call('HLEN', c.hosts), redis.call('HLEN', c.urls),
    redis.call('HGETALL', c.outcomes), redis.call('HGETALL', c.reasons),
  }
end

redis.register_function('thresher_add', add)
redis.register_function('thresher_lease', lease)
redis.register_function('thresher_renew', renew)
redis.register_function('thresher_release', release)
redis.register_function('thresher_settle', settle)
redis.register_function('thresher_settle_robots', settle_robots)
redis.register_function('thresher_retry_robots', retry_robots)
redis.register_function('thresher_reclaim', reclaim)
redis.register_function('thresher_beat', beat)
redis.register_function('thresher_leave', leave)
redis.register_function({function_name = 'thresher_alive', callback = alive, flags = {'no-writes'}})
redis.register_function({function_name = 'thresher_holders', callback = holders, flags = {'no-writes'}})
redis.register_function({function_name = 'thresher_stalls', callback = stalls, flags = {'no-writes'}})
redis.register_function('thresher_archived', archived)
redis.register_function('thresher_follow', follow)
redis.register_function('thresher_unfollow', unfollow)
redis.register_function({function_name = 'thresher_flow', callback = flow, flags = {'no-writes'}})
redis.register_function({function_name = 'thresher_leases', callback = leases, flags = {'no-writes'}})
redis.register_function({function_name = 'thresher_robots', callback = robots, flags = {'no-writes'}})
redis.register_function({function_name = 'thresher_stats', callback = stats, flags = {'no-writes'}})
