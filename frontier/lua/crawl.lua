local COUNTERS = {'waiting', 'leased', 'later', 'hosts', 'added', 'tail', 'scheduled', 'held', 'dead', 'requests'}

verb('stats', function(keys)
  local c = look(keys)
  local told = call('HMGET', c.count, unpack(COUNTERS))
  for i = 1, #COUNTERS do told[i] = tonumber(told[i] or 0) end
  told[#told + 1] = call('HLEN', c.leases) - told[2]
  for _, hash in ipairs({'outcomes', 'reasons', 'discarded'}) do told[#told + 1] = call('HGETALL', c.prefix .. hash) end
  return told
end, READS)

-- Deletes some of the crawl's keys; returns how many hosts are left.
verb('forget', function(keys, args)
  local c = look(keys)
  call('UNLINK', c.leases, c.deadlines, c.later, c.prefix .. 'visits') -- they name hosts
  for n = 0, RANKS - 1 do call('UNLINK', c.ready .. n) end
  local names = call('HRANDFIELD', c.hosts, args[1])
  for _, name in ipairs(names) do
    call('UNLINK', c.prefix .. 'q:' .. name, c.prefix .. 'r:' .. name)
    call('HDEL', c.hosts, name)
  end
  local left = call('HLEN', c.hosts)
  if left == 0 then
    for _, key in ipairs({'count', 'hosts', 'robots', 'bodies', 'seen', 'domains',
      'rings', 'standings', 'outcomes', 'reasons', 'discarded', 'bars', 'spill', 'hungry', 'segments', 'empty', 'ips', 'flow', 'stalls',
      'beats', 'meta'}) do call('UNLINK', c.prefix .. key) end
  end
  return left
end, FREES)

-- args: partitions, version ; what the crawl was made with, by whoever was first
verb('make', function(keys, args)
  local meta = sub(keys[1], 1, -6) .. 'meta'
  call('HSETNX', meta, 'partitions', args[1])
  call('HSETNX', meta, 'version', args[2])
  return call('HMGET', meta, 'partitions', 'version')
end)
