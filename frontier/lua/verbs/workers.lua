local function forget_worker(c, worker)
  for _, name in ipairs({'beats', 'reports', 'stalls'}) do call('ZREM', c.prefix .. name, worker) end
  call('HDEL', c.prefix .. 'outages', worker)
  call('HDEL', c.prefix .. 'figures', 'worker ' .. worker)
end

local BYTES_STORED, PARTS = 4, 5 -- of the counters (frontier/worker_figures.py)

local function forget_expired(c, names)
  for _, worker in ipairs(call('ZRANGE', c.prefix .. names, '-inf', c.now, 'BYSCORE')) do forget_worker(c, worker) end
end

local function numbers(text)
  local found = {}
  for each in string.gmatch(text, '%S+') do found[#found + 1] = tonumber(each) end
  return found
end

-- Add to the sums of its kind what the counters of a worker grew by since its last report. If that is not here, they
-- grew since those that the worker knows to be counted. A report that comes twice adds nothing.
local function add_figures(c, worker, kind, rss, totals, counted)
  local key, of_kind, of_worker = c.prefix .. 'figures', 'kind ' .. kind, 'worker ' .. worker
  local f = call('HMGET', key, of_kind, of_worker)
  local before = numbers(f[2] and string.match(f[2], '^%S+ %S+ (.*)$') or counted)
  local sums, now = numbers(f[1] or ''), numbers(totals)
  local has_progressed = false
  for i = 1, #now do
    local by = max(now[i] - (before[i] or 0), 0)
    has_progressed = has_progressed or by > 0 and (i == BYTES_STORED or i == PARTS)
    sums[i] = integer((sums[i] or 0) + by)
  end
  call('HSET', key, of_kind, table.concat(sums, ' '), of_worker, kind .. ' ' .. rss .. ' ' .. totals)
  if has_progressed then call('HSET', key, 'progress ' .. kind, integer(c.wall)) end
end

-- args: worker, ttl_ms, ms for which it has waited for its storage (-1: it does not), ms for which something has kept
-- it from the web (-1: nothing does), and what; then, if it reports figures, its kind, its resident bytes, its
-- counters, and those that it knows to be counted (frontier/worker_figures.py)
verb('beat', function(keys, args)
  local c = open(keys)
  if is_taken(c, args[1]) then return refusal(args[1]) end
  local beats, stalls = c.prefix .. 'beats', c.prefix .. 'stalls'
  forget_expired(c, 'beats')
  call('ZADD', beats, c.now + args[2], args[1])
  if tonumber(args[3]) < 0 then
    call('ZREM', stalls, args[1])
  else
    call('ZADD', stalls, c.now - args[3], args[1])
  end
  if tonumber(args[4]) < 0 then
    call('HDEL', c.prefix .. 'outages', args[1])
  else
    call('HSET', c.prefix .. 'outages', args[1], integer(c.now - args[4]) .. ' ' .. args[5])
  end
  if args[6] then add_figures(c, args[1], args[6], args[7], args[8], args[9]) end
end)

-- args: worker that leases nothing, ttl_ms, its kind, its resident bytes, its counters, those that it knows to be
-- counted
verb('report', function(keys, args)
  local c = open(keys)
  forget_expired(c, 'reports')
  call('ZADD', c.prefix .. 'reports', c.now + args[2], args[1])
  add_figures(c, args[1], args[3], args[4], args[5], args[6])
end)

-- The sums of each kind: `kind NAME`, counters. When a kind stored something last: `progress NAME`, TIME. The reports that still count: `worker NAME`, kind, resident bytes and
-- counters.
verb('figures', function(keys)
  local c, found = look(keys), {}
  local all = call('HGETALL', c.prefix .. 'figures')
  for i = 1, #all, 2 do
    local worker = string.match(all[i], '^worker (.*)$')
    local till = worker and (call('ZSCORE', c.prefix .. 'beats', worker) or call('ZSCORE', c.prefix .. 'reports', worker))
    if not worker or till and tonumber(till) > c.now then found[#found + 1] = {all[i], all[i + 1]} end
  end
  return found
end, READS)

-- args: worker
verb('leave', function(keys, args)
  forget_worker(open(keys), args[1])
end)

-- args: worker, ... Every call under these names is refused from now on. Returns nonce and time.
verb('take_over', function(keys, args)
  local c = open(keys)
  in_chunks('SADD', c.prefix .. 'taken', args)
  in_chunks('SREM', c.prefix .. 'askers', args)
  call('HSET', keys[1], 'taken', call('SCARD', c.prefix .. 'taken'))
  for _, worker in ipairs(args) do forget_worker(c, worker) end
  return moment(c)
end, FREES)

-- For how many ms each live worker that waits for its storage has done so.
verb('stalls', function(keys)
  local c, found = look(keys), {}
  local pairs_ = call('ZRANGE', c.prefix .. 'stalls', 0, -1, 'WITHSCORES')
  for i = 1, #pairs_, 2 do
    local till = call('ZSCORE', c.prefix .. 'beats', pairs_[i])
    if till and tonumber(till) > c.now then found[#found + 1] = c.now - tonumber(pairs_[i + 1]) end
  end
  return found
end, READS)

-- Each live worker that is kept from the web, for how many ms, and by what.
verb('outages', function(keys)
  local c, found = look(keys), {}
  local all = call('HGETALL', c.prefix .. 'outages')
  for i = 1, #all, 2 do
    local till = call('ZSCORE', c.prefix .. 'beats', all[i])
    local since, why = string.match(all[i + 1], '^(%d+) (.*)$')
    if till and tonumber(till) > c.now then found[#found + 1] = {all[i], c.now - since, why} end
  end
  return found
end, READS)

-- args: worker, ... Returns those whose last heartbeat still counts.
verb('alive', function(keys, args)
  local c, found = look(keys), {}
  for _, worker in ipairs(args) do
    local till = call('ZSCORE', c.prefix .. 'beats', worker)
    if till and tonumber(till) > c.now then found[#found + 1] = worker end
  end
  return found
end, READS)

-- args: worker, ttl_ms. Returns 1 if it keeps the tail for that time, 0 if another does.
verb('keep', function(keys, args)
  local c = open(keys)
  local key = c.prefix .. 'meta'
  local f = call('HMGET', key, 'keeper', 'kept')
  if f[1] and f[1] ~= args[1] and tonumber(f[2]) > c.now then return 0 end
  call('HSET', key, 'keeper', args[1], 'kept', integer(c.now + args[2]))
  return 1
end, FREES)
