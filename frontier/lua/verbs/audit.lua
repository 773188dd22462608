-- The check of politeness: workers report when their exchanges truly were. Nothing that plans the turns is read here,
-- and nothing here plans a turn.

local WATCH_MS = 30000 -- after the delay of an exchange; reports of other workers come within a few seconds

local function parse_exchange(text)
  local s, e, d, w = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return {start = tonumber(s), stop = tonumber(e), delay = tonumber(d), wrong = tonumber(w)}
end

-- args: the nonce of the clock by which the times were computed; for each exchange: host, start, end, delay, and how
-- far the times may be wrong, all in ms. Returns nonce, time, and the violations: host, gap, delay.
-- Times of another life of the server are dropped: its clock may have stood still meanwhile.
verb('check_exchanges', function(keys, args)
  local c, found = open(keys), {}
  local watched, exchanges = c.prefix .. 'watched', c.prefix .. 'exchanges'
  local old = call('ZRANGE', watched, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, 2 * CHUNK)
  in_chunks('ZREM', watched, old)
  in_chunks('HDEL', exchanges, old)
  if args[1] ~= nonce then return {nonce, c.now, found} end
  local last = {}
  local hosts = every(args, 2, 5)
  for i, text in ipairs(get_many(exchanges, hosts)) do last[hosts[i]] = text and parse_exchange(text) or nil end
  for i = 2, #args, 5 do
    local host = args[i]
    local one, other = parse_exchange(table.concat(args, ' ', i + 1, i + 4)), last[host]
    if other and one.start ~= other.start then
      local first, second = one, other
      if other.start < one.start then first, second = other, one end
      local gap, delay = second.start - first.stop, min(one.delay, other.delay)
      if gap + one.wrong + other.wrong < delay then found[#found + 1] = {host, gap, delay} end
    end
    if not other or one.stop >= other.stop then
      last[host] = one
      put(c, exchanges, host, integer(one.start) .. ' ' .. integer(one.stop) .. ' ' .. args[i + 3] .. ' ' .. args[i + 4])
      score(c, watched, host, integer(one.stop + one.delay + WATCH_MS))
    end
  end
  write_puts(c)
  write_scores(c)
  return {nonce, c.now, found}
end)
