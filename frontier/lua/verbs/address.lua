-- args: address, slot: until when the host was held, 0 for not at all; who asks, if it has a lease.
-- Returns 0, or how long to wait.
verb('enter', function(keys, args)
  local c = open(keys)
  if args[3] and is_taken(c, args[3]) then return refusal(args[3]) end
  local slot = tonumber(args[2])
  local delay = tonumber(call('HGET', c.count, 'ip_delay') or 250)
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

-- When a host was asked last without a lease of it, or will be.
local function turn_of(c, host)
  local text = call('HGET', c.prefix .. 'ips', 'host ' .. host)
  return max(text and unpack_('>I6', text) or 0, c.since)
end

local function note_turn(c, host, when) call('HSET', c.prefix .. 'ips', 'host ' .. host, pack('>I6I6', when, 0)) end

-- args: host, the delay that its rules ask for, the longest wait that is of use, 1 where the caller has a lease of the host.
-- Returns how long it is until the caller's turn; where that is longer nothing is noted.
verb('turn', function(keys, args)
  local c = open(keys)
  local delay, most, leased = max(c.delay, tonumber(args[2])), tonumber(args[3]), args[4] == '1'
  local h = read_host(c, args[1])
  if h then delay = max(delay, h.delay, h.pace) end
  if delay == 0 then return 0 end
  local last = turn_of(c, args[1])
  local when = last > 0 and max(c.now, last + delay) or c.now
  if h and not leased then
    when = max(when, h.held, after_last(c, h, delay))
    if h.open > 0 then when = max(when, c.soon + delay) end
  end
  local wait = when - c.now
  if wait > most then return wait end
  note_turn(c, args[1], when + 1)
  if h and not leased then
    hold(c, h, wait + delay, REST_CODES.address)
    settle_host(c, h)
  end
  close(c)
  return wait
end)

-- args: as of `turn`, without the wait. An exchange that had its turn is over: the delay begins now.
verb('end_turn', function(keys, args)
  local c = open(keys)
  local h = read_host(c, args[1])
  note_turn(c, args[1], max(turn_of(c, args[1]), c.soon))
  if h and args[3] ~= '1' then
    hold(c, h, max(c.delay, tonumber(args[2]), h.delay, h.pace), REST_CODES.address)
    settle_host(c, h)
  end
  close(c)
  return 0
end)
