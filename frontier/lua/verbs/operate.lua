-- args: host, ms (negative: no longer)
verb('hold', function(keys, args)
  local c = open(keys)
  local h = read_host(c, args[1])
  if not h then return 0 end
  local ms = tonumber(args[2])
  if ms < 0 then
    revive(c, h)
    h.held = 0
    wake_origins(c, h)
    unready(c, h)
  else
    hold(c, h, ms, REST_CODES[args[3]] or REST_CODES.operator)
  end
  settle_host(c, h)
  close(c)
  return 1
end)

-- args: cursor, n. Returns the next cursor, and names of hosts.
verb('scan', function(keys, args)
  local told = call('HSCAN', keys[1], args[1], 'COUNT', args[2]) -- NOVALUES came with Redis 7.4
  return {told[1], every(told[2], 1, 2)}
end, READS)

-- args: rank, host, ...
verb('rank', function(keys, args)
  local c = open(keys)
  for i = 2, #args do
    local h = read_host(c, args[i])
    if h then
      unready(c, h)
      h.rank = tonumber(args[1])
      settle_host(c, h)
    end
  end
  close(c)
end)

-- args: rank, domain. The rank holds for hosts to come.
verb('rank_domain', function(keys, args)
  local c = open(keys)
  local d = read_domain(c, args[2])
  d.rank = tonumber(args[1])
  write_domain(c, d)
  close(c)
end)

-- args: host, ... Settle the waiting entries of these hosts, which are not wanted any more. Returns how many.
verb('drop', function(keys, args)
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
end, FREES)

-- args: scope. Nothing of it is granted any more, or let in.
verb('bar', function(keys, args)
  local c = open(keys)
  call('HSET', c.prefix .. 'bars', args[1], 1)
end)

-- args: scope. It is as if it had never been barred.
verb('unbar', function(keys, args)
  local c = open(keys)
  call('HDEL', c.prefix .. 'bars', args[1])
end)

-- Returns the barred scopes.
verb('barred_scopes', function(keys)
  local c = open(keys)
  return call('HKEYS', c.prefix .. 'bars')
end)
