local SLOWEST_MS = 30000 -- Heritrix: maxDelayMs
local FACTOR = 2 -- of the time that a host takes to answer
local PUT_OFF = 500 -- hosts whose turn turns out not to have come, in one call: after a restart that is all of them
local PASSED_OVER = 64 -- entries that nobody wants any more, settled by one grant

-- Takes the next entry that is wanted out of the head; nil where there is none.
local function take(c, h)
  for _ = 1, PASSED_OVER do
    if h.head == 0 then return nil end
    local entry = call('LPOP', queue(c, h))
    h.head, h.waiting = h.head - 1, h.waiting - 1
    bump(c, 'waiting', -1)
    promote(c, h)
    watch_head(c, h)
    local reason = unwanted(c, h, entry)
    if not reason then return entry end
    conclude(c, 'refused', reason, 1)
  end
  return nil
end

-- What may be granted of a host that is ready: its pace and its next entry. A host whose turn has not come, or that has
-- nothing to be granted, is placed where it belongs.
local function candidate(c, name, min_delay)
  local h = read_host(c, name)
  local pace = max(min_delay, h.delay)
  if pace > 0 then pace = max(pace, min(FACTOR * h.smooth, SLOWEST_MS)) end
  local when = max(after_last(c, h, pace), h.held)
  local entry
  if h.open >= capacity(h, pace) then
    unready(c, h)
  elseif when > c.now then
    score(c, c.ready .. h.rank, name, when)
    h.due = when
  else
    entry = take(c, h)
    if not entry then place(c, h) end
  end
  write_host(c, h)
  return entry and {h = h, pace = pace, entry = entry, origin = origin_of(name, entry)}
end

-- The origin of what would be granted rests: the next of another one goes before, as far as the head goes, or the host waits.
local function instead(c, found)
  local h, known, soonest = found.h, {}, nil
  put_back(c, h, found.entry)
  widen(c, h)
  for _, entry in ipairs(call('LRANGE', queue(c, h), 0, h.head - 1)) do
    local origin = origin_of(h.name, entry)
    local r = known[origin] or read_robots(c, origin)
    known[origin] = r
    if r.rest > c.now then
      soonest = min(soonest or r.rest, r.rest)
    else
      call('LREM', queue(c, h), 1, entry)
      h.head, h.waiting = h.head - 1, h.waiting - 1
      bump(c, 'waiting', -1)
      watch_head(c, h)
      local reason = unwanted(c, h, entry)
      if not reason then
        found.entry, found.origin = entry, origin
        return found, r
      end
      conclude(c, 'refused', reason, 1)
    end
  end
  score(c, c.ready .. h.rank, h.name, soonest)
  h.due = soonest
  write_host(c, h)
  return nil
end

-- Grants the page, or first the robots.txt of its origin.
local function grant(c, found, r, token, worker, lease_ms)
  local h, l = found.h, nil
  if r.expires > c.wall then
    l = {kind = PAGE, subject = found.entry}
    bump(c, 'leased', 1)
  else
    l = {kind = ROBOTS_TXT, subject = found.origin}
    put_back(c, h, found.entry)
    set(h, ASKING)
  end
  l.released, l.host, l.worker, l.granted = false, h.name, worker, c.now
  put(c, c.leases, token, pack_lease(l))
  score(c, c.deadlines, token, c.now + lease_ms)
  h.open, h.pace = h.open + 1, found.pace
  bump(c, 'requests', 1)
  if h.open < capacity(h, h.pace) and h.head > 0 and not has(h.flags, ASKING) then
    h.due = c.now -- its turn is over
    score(c, c.ready .. h.rank, h.name, c.now)
  else
    unready(c, h)
  end
  write_host(c, h)
  return {token, KINDS[l.kind], c.now + lease_ms, r.version, r.attempt, h.held > h.last and h.held or 0, h.name, l.subject}
end

-- How many hosts and pages have their turn now, or may have it.
verb('due', function(keys)
  local c = open(keys)
  local due = call('ZCOUNT', c.deadlines, '-inf', c.now) + call('ZCOUNT', c.later, '-inf', c.now)
    + call('ZCOUNT', c.prefix .. 'visits', '-inf', c.wall)
  for rank = 0, RANKS - 1 do due = due + call('ZCOUNT', c.ready .. rank, '-inf', c.now) end
  return due
end, FREES)

-- args: n, worker, lease_ms, min_delay_ms, pages and requests at most (negative: any number), where traps are looked for,
-- partitions, partition
verb('lease', function(keys, args)
  local c = open(keys)
  local n, limit, min_delay = tonumber(args[1]), tonumber(args[5]), min(tonumber(args[4]), LONGEST_DELAY)
  local most_requests = tonumber(args[6])
  local partitions, partition = tonumber(args[8]), tonumber(args[9])
  c.traps = args[7]
  if min_delay ~= c.delay then
    c.delay = min_delay
    call('HSET', keys[1], 'delay', min_delay)
  end
  expire(c)
  wake(c, c.later, c.now, 'later')
  wake(c, c.prefix .. 'visits', c.wall, 'scheduled')
  if limit >= 0 then
    local taken = tonumber(call('HGET', c.prefix .. 'outcomes', 'fetched') or 0)
      + tonumber(call('HGET', c.count, 'leased') or 0) + (c.n.leased or 0)
    n = min(n, limit - taken)
  end
  if most_requests >= 0 then
    n = min(n, most_requests - tonumber(call('HGET', c.count, 'requests') or 0) - (c.n.requests or 0))
  end
  local granted = {}
  local counter = tonumber(call('HGET', c.count, 'token') or 0)
  local first, left = counter, n + PUT_OFF
  for rank = RANKS - 1, 0, -1 do
    while #granted < n and left > 0 do
      write_scores(c)
      local names = call('ZRANGE', c.ready .. rank, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, n - #granted)
      if #names == 0 then break end
      left = left - #names
      read_hosts(c, names)
      local candidates, origins = {}, {}
      for _, name in ipairs(names) do
        local found = candidate(c, name, min_delay)
        if found then
          candidates[#candidates + 1] = found
          origins[#origins + 1] = found.origin
        end
      end
      for i, text in ipairs(get_many(c.robots, origins)) do
        local found, r = candidates[i], parse_robots(text)
        if r.rest > c.now then found, r = instead(c, found) end
        if found then
          counter = counter + 1
          local token = string.format('%.0f', counter * partitions + partition)
          granted[#granted + 1] = grant(c, found, r, token, args[2], tonumber(args[3]))
        end
      end
    end
  end
  bump(c, 'token', counter - first)
  close(c)
  return granted
end)
