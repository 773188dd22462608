local function forget_worker(c, worker)
  for _, name in ipairs({'beats', 'stalls'}) do call('ZREM', c.prefix .. name, worker) end
  call('HDEL', c.prefix .. 'outages', worker)
end

-- args: worker, ttl_ms, ms for which it has waited for its storage (-1: it does not), ms for which something has kept
-- it from the web (-1: nothing does), and what
verb('beat', function(keys, args)
  local c = open(keys)
  if is_taken(c, args[1]) then return refusal(args[1]) end
  local beats, stalls = c.prefix .. 'beats', c.prefix .. 'stalls'
  for _, worker in ipairs(call('ZRANGE', beats, '-inf', c.now, 'BYSCORE')) do forget_worker(c, worker) end
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
end)

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
