local SLOWEST_MS = 30000 -- Heritrix: maxDelayMs
local FACTOR = 2 -- of the time that a host takes to answer
local PUT_OFF = 500 -- hosts in one call whose turn has not come after all: after a restart these are all hosts
local PASSED_OVER = 64 -- unwanted entries that one grant settles

-- Return why an entry is given up, as outcome and reason; nil if it is to be fetched.
local function fate(c, h, entry)
  local reason = unwanted(c, h, entry)
  if reason then return 'refused', reason end
  if has(h.flags, DEAD) then return 'failed', death(h) end
  if byte(entry, 6) % ORPHAN >= MAX_EXPIRIES then return 'failed', 'lease_expired' end
  return nil
end

-- Settle an entry that is given up, or return its failure if it notifies.
local function give_up(c, h, entry, outcome, reason)
  if notifies(entry) and reason ~= 'dropped' then return outcome .. ':' .. reason end
  settle_here(c, outcome, reason, h.name, entry)
  return nil
end

-- Take the next entry to grant out of the head, with its failure if it is given up; nil if there is none.
local function take(c, h)
  for _ = 1, PASSED_OVER do
    if h.head == 0 then return nil end
    local entry = call('LPOP', queue(c, h))
    h.head, h.waiting = h.head - 1, h.waiting - 1
    bump(c, 'waiting', -1)
    promote(c, h)
    watch_head(c, h)
    local outcome, reason = fate(c, h, entry)
    local failure = outcome and give_up(c, h, entry, outcome, reason)
    if failure or not outcome then return entry, failure end
  end
  return nil
end

-- Return what may be granted of a ready host: its pace and its next entry. A host whose turn has not come, or that has
-- nothing to grant, is placed where it belongs.
local function candidate(c, name)
  local h = read_host(c, name)
  if has(h.flags, DEAD) then
    local entry, failure = take(c, h)
    if not entry then place(c, h) end
    write_host(c, h)
    return entry and {h = h, entry = entry, failure = failure, origin = origin_of(name, entry)}
  end
  local pace = max(c.delay, h.delay)
  if pace > 0 then pace = max(pace, min(FACTOR * h.smooth, SLOWEST_MS)) end
  local when = max(after_last(c, h, pace), h.held)
  local entry, failure
  if h.open >= capacity(h, pace) then
    unready(c, h)
  elseif when > c.now then
    score(c, c.ready .. h.rank, name, when)
    h.due = when
  else
    entry, failure = take(c, h)
    if not entry then place(c, h) end
  end
  write_host(c, h)
  return entry and {h = h, pace = pace, entry = entry, failure = failure, origin = origin_of(name, entry)}
end

-- The origin of the next entry rests: an entry of another origin goes before it, as far as the head goes, or the host
-- waits.
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
      local outcome, reason = fate(c, h, entry)
      local failure = outcome and give_up(c, h, entry, outcome, reason)
      if failure or not outcome then
        found.entry, found.origin, found.failure = entry, origin, failure
        return found, r
      end
    end
  end
  score(c, c.ready .. h.rank, h.name, soonest)
  h.due = soonest
  write_host(c, h)
  return nil
end

-- Grant a page that is given up: no request is made for it, so neither pace nor robots rules matter.
local function grant_failure(c, found, r, token, worker, lease_ms)
  local h = found.h
  local l = {kind = PAGE, subject = found.entry, failure = found.failure, host = h.name, worker = worker, granted = c.now}
  local slot = h.held > h.last and h.held or 0
  bump(c, 'leased', 1)
  put(c, c.leases, token, pack_lease(l))
  score(c, c.deadlines, token, c.now + lease_ms)
  place(c, h)
  write_host(c, h)
  return {token, KINDS[PAGE], c.now + lease_ms, r.version, r.attempt, slot, h.name, l.subject, l.failure, 0}
end

-- Grant the page, or first the robots.txt of its origin.
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
  return {token, KINDS[l.kind], c.now + lease_ms, r.version, r.attempt, h.held > h.last and h.held or 0, h.name, l.subject, '', r.expiries}
end

-- Take back expired leases, and wake entries that are due; only then it is known which hosts need no robots.txt any more.
local function catch_up(c)
  expire(c)
  wake(c, c.later, c.now, 'later')
  wake(c, c.prefix .. 'visits', c.wall, 'scheduled')
  forget_bodies(c, SWEEP, c.wall)
end

verb('due', function(keys)
  local c = open(keys)
  catch_up(c)
  close(c)
  return soonest(c)
end, FREES)

-- args: n, worker, lease_ms, pages and requests at most (negative: any number), partitions, partition, the nonce that
-- the client knows. Returns the leases, when there may be more (see `soonest`), and the nonce. A client that knows
-- another nonce is granted nothing.
verb('lease', function(keys, args)
  local c = open(keys)
  if is_taken(c, args[2]) then return refusal(args[2]) end
  call('SADD', c.prefix .. 'askers', args[2])
  local n, limit, most_requests = tonumber(args[1]), tonumber(args[4]), tonumber(args[5])
  local partitions, partition = tonumber(args[6]), tonumber(args[7])
  catch_up(c)
  if limit >= 0 then
    local taken = tonumber(call('HGET', c.prefix .. 'outcomes', 'fetched') or 0)
      + tonumber(call('HGET', c.count, 'leased') or 0) + (c.n.leased or 0)
    n = min(n, limit - taken)
  end
  if most_requests >= 0 then
    n = min(n, most_requests - tonumber(call('HGET', c.count, 'requests') or 0) - (c.n.requests or 0))
  end
  local early = args[8] ~= nonce or held_back(c) > 0
  if early then n = 0 end
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
        local found = candidate(c, name)
        if found then
          candidates[#candidates + 1] = found
          origins[#origins + 1] = found.origin
        end
      end
      for i, text in ipairs(get_many(c.robots, origins)) do
        local found, r = candidates[i], parse_robots(text)
        if not found.failure and r.rest > c.now then found, r = instead(c, found) end
        if found then
          counter = counter + 1
          local token = string.format('%.0f', counter * partitions + partition)
          local promise = found.failure and grant_failure or grant
          granted[#granted + 1] = promise(c, found, r, token, args[2], tonumber(args[3]))
        end
      end
    end
  end
  bump(c, 'token', counter - first)
  close(c)
  return {granted, (early or #granted < n) and soonest(c) or 0, nonce}
end)
