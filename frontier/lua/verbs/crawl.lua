local COUNTERS = {
  'waiting', 'leased', 'later', 'hosts', 'added', 'tail', 'scheduled', 'held', 'dead', 'unlogged', 'requests'
}

-- Counters, hashes of counters, the nonce, and the creation id of the crawl (see `begin`).
verb('stats', function(keys)
  local c = look(keys)
  local told = call('HMGET', c.count, unpack(COUNTERS))
  for i = 1, #COUNTERS do told[i] = tonumber(told[i] or 0) end
  told[#told + 1] = call('HLEN', c.leases) - told[2]
  for _, hash in ipairs({'outcomes', 'reasons', 'discarded'}) do told[#told + 1] = call('HGETALL', c.prefix .. hash) end
  told[#told + 1] = nonce
  told[#told + 1] = call('HGET', c.count, 'made') or ''
  return told
end, READS)

-- Delete some of the crawl's keys; return how many hosts are left.
verb('forget', function(keys, args)
  if not call('HGET', keys[1], 'born') then
    call('UNLINK', keys[1])
    return 0
  end
  local c = look(keys)
  call('UNLINK', c.leases, c.deadlines, c.later, c.prefix .. 'visits') -- they name hosts
  for n = 0, RANKS - 1 do call('UNLINK', c.ready .. n) end
  local names = call('HRANDFIELD', c.hosts, args[1])
  for _, name in ipairs(names) do
    call('UNLINK', c.prefix .. 'q:' .. name, c.prefix .. 'r:' .. name)
    call('HDEL', c.hosts, name)
  end
  local left = call('HLEN', c.hosts)
  for _, id in ipairs(call('HKEYS', c.prefix .. 'closed')) do call('UNLINK', closed_queue(c, id), closed_runs(c, id)) end
  if left == 0 then
    for _, key in ipairs({'count', 'hosts', 'robots', 'bodies', 'kept', 'seen', 'domains',
     'rings', 'standings', 'outcomes', 'reasons', 'discarded', 'bars', 'spill', 'hungry', 'segments', 'empty', 'unlogged', 'closed',
      'ips', 'flow', 'stalls', 'outages', 'beats', 'reports', 'figures', 'exchanges', 'watched', 'taken', 'askers', 'rebuilt',
      'fleet', 'members', 'claims', 'meta'}) do call('UNLINK', c.prefix .. key) end
  end
  return left
end, FREES)

-- args: revision; delay in ms of a host, of an address; URLs of a host at most (-1: any number), of a domain, hosts of
-- a domain; where traps are looked for. They are a copy of the home's settings. A copy that is older than the present
-- one changes nothing.
verb('configure', function(keys, args)
  open(keys)
  if tonumber(call('HGET', keys[1], 'revision') or 0) > tonumber(args[1]) then return end
  call('HSET', keys[1], 'revision', args[1], 'delay', min(tonumber(args[2]), LONGEST_DELAY),
    'ip_delay', min(tonumber(args[3]), LONGEST_DELAY), 'host_budget', args[4], 'domain_budget', args[5], 'hosts_budget', args[6],
    'traps', args[7])
end, FREES)
