-- args: address, slot: until when the host was held, 0 for not at all; 1 where it is a host that stands for its address; who asks,
-- if it has a lease.
-- Returns 0, or how long to wait.
verb('enter', function(keys, args)
  local c = open(keys)
  if args[4] and is_taken(c, args[4]) then return refusal(args[4]) end
  local slot = tonumber(args[2])
  local delay = args[3] == '1' and c.delay or tonumber(call('HGET', c.count, 'ip_delay') or 250)
  local text = call('HGET', c.prefix .. 'ips', args[1])
  local last, line = 0, 0
  if text then last, line = unpack_('>I6I6', text) end
  last = max(last, c.since)
  local free = last == 0 or last + delay <= c.now
  local wait = 0
  if free and (line <= c.now or slot > 0) then
    last = c.soon
  elseif slot > 0 then
    wait = last + delay - c.now -- its turn has come, but another's is not over
  else
    line = max(line, last, c.now - delay) + delay
    wait = line - c.now
  end
  call('HSET', c.prefix .. 'ips', args[1], pack('>I6I6', last, line))
  return wait
end)

-- args: an address that is asked only now, later than it was entered: its delay begins anew.
verb('asked', function(keys, args)
  local c = open(keys)
  local text = call('HGET', c.prefix .. 'ips', args[1])
  local last, line = 0, 0
  if text then last, line = unpack_('>I6I6', text) end
  call('HSET', c.prefix .. 'ips', args[1], pack('>I6I6', max(last, c.soon), line))
  return 0
end)
