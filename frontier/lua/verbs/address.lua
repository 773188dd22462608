-- args: address; slot: until when the host was held, 0 for not at all; the worker, if it has a lease.
-- Returns 0, or how many ms to wait.
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
    wait = last + delay - c.now -- its turn has come, but the exchange before it is not over
  else
    line = max(line, last, c.now - delay) + delay
    wait = line - c.now
  end
  call('HSET', c.prefix .. 'ips', args[1], pack('>I6I6', last, line))
  return wait
end)

-- args: an address that is asked only now, later than it was acquired: its delay begins anew.
verb('asked', function(keys, args)
  local c = open(keys)
  local text = call('HGET', c.prefix .. 'ips', args[1])
  local last, line = 0, 0
  if text then last, line = unpack_('>I6I6', text) end
  call('HSET', c.prefix .. 'ips', args[1], pack('>I6I6', max(last, c.soon), line))
  return 0
end)

-- When a host was asked last in a turn, or will be; and until when it wants to be asked nothing.
local function turn_of(c, host)
  local text = call('HGET', c.prefix .. 'ips', 'host ' .. host)
  local last, held = 0, 0
  if text then last, held = unpack_('>I6I6', text) end
  return max(last, c.since), held
end

local function note_turn(c, host, last, held) call('HSET', c.prefix .. 'ips', 'host ' .. host, pack('>I6I6', last, held)) end

-- args: host; the delay that its rules ask for; the longest wait that is of use; for how many ms the caller has had the
-- answer for which it leased the host, -1 if it has no lease; how many turns it may take ahead of their time, if no
-- rules ask for a delay. Returns the ms until the caller's turn; if that is longer than the longest wait, no turn is
-- taken. Turns that are taken ahead are owed: the host is asked nothing else until the time of all turns that were
-- taken.
verb('turn', function(keys, args)
  local c = open(keys)
  local asks, most, since, ahead = tonumber(args[2]), tonumber(args[3]), tonumber(args[4]), tonumber(args[5])
  local delay = max(c.delay, asks)
  local h = read_host(c, args[1])
  if h then delay = max(delay, h.delay, h.pace) end
  local last, held = turn_of(c, args[1])
  local leased = since >= 0
  if leased then last = max(last, c.now - since) end
  local due = max(c.now, held, last > 0 and last + delay or 0)
  if h and not leased then
    due = max(due, h.held, after_last(c, h, delay))
    if h.open > 0 and delay > 0 then due = max(due, c.soon + delay) end
  end
  local when = due
  if leased and asks == 0 and not (h and h.delay > 0) then when = max(c.now, held, due - ahead * (delay + 1)) end
  if when - c.now > most or delay == 0 then return when - c.now end
  note_turn(c, args[1], due + 1, held)
  if h then
    hold(c, h, due - c.now + delay, REST_CODES.address)
    settle_host(c, h)
  end
  close(c)
  return when - c.now
end)

-- args: host; the delay that its rules ask for; 1 if the caller has a lease of it; why it is too busy ('': it is not),
-- and for how many ms it wants to be left alone (0: it does not say). An exchange that had its turn is over: the delay
-- begins now.
verb('end_turn', function(keys, args)
  local c = open(keys)
  local h = read_host(c, args[1])
  local last, held = turn_of(c, args[1])
  local busy, rest = args[4], tonumber(args[5])
  if h and args[3] ~= '1' then
    hold(c, h, max(c.delay, tonumber(args[2]), h.delay, h.pace), REST_CODES.address)
  end
  if busy ~= '' then
    held = max(held, c.soon + (rest > 0 and rest or scaled(c, FAULTS.busy[2])))
    if h then judge(c, h, 'busy', rest, h.held, busy) end
  end
  note_turn(c, args[1], max(last, c.soon), held)
  if h then settle_host(c, h) end
  close(c)
  return 0
end)
