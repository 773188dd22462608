local SLOWEST_MS = 30000 -- Heritrix: maxDelayMs
local FACTOR = 2 -- of the time that a host takes to answer
local PUT_OFF = 500 -- hosts whose turn turns out not to have come, in one call: after a restart that is all of them
local PASSED_OVER = 64 -- entries that nobody wants any more, settled by one grant

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

-- args: n, worker, lease_ms, min_delay_ms, limit (negative: none), partitions, partition
verb('lease', function(keys, args)
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
end)
