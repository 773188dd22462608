local CLOSED = 64 -- closed queues that one call looks into
local ENOUGH = 16384 -- entries in memory that wait for the log, above which no more are fetched from storage

local function to_outbox(c, id, said, entries)
  for _, entry in ipairs(entries) do call('RPUSH', c.prefix .. 'unlogged', said .. entry) end
  if call('EXISTS', closed_queue(c, id), closed_runs(c, id)) == 0 then call('HDEL', c.prefix .. 'closed', id) end
end

-- args: n. Returns the life of the server, how many were logged before, and up to n to be logged.
verb('unlogged', function(keys, args)
  local c = open(keys)
  local key, n = c.prefix .. 'unlogged', tonumber(args[1])
  local room = n - call('LLEN', key)
  if room > 0 then
    local closed = call('HRANDFIELD', c.prefix .. 'closed', CLOSED, 'WITHVALUES')
    for i = 1, #closed, 2 do
      local entries = room > 0 and call('LPOP', closed_queue(c, closed[i]), room) or {}
      to_outbox(c, closed[i], closed[i + 1], entries or {})
      room = room - #(entries or {})
    end
  end
  local found = call('LRANGE', key, 0, n - 1)
  table.insert(found, 1, tonumber(call('HGET', c.count, 'logged') or 0))
  table.insert(found, 1, nonce)
  return found
end, FREES)

-- args: the life, how many were logged before, n. The next n are logged. A server that has forgotten some has others in
-- their place.
verb('logged', function(keys, args)
  local c = open(keys)
  local before = tonumber(call('HGET', c.count, 'logged') or 0)
  if args[1] ~= nonce or before ~= tonumber(args[2]) then return end
  call('LTRIM', c.prefix .. 'unlogged', args[3], -1)
  call('HSET', c.count, 'logged', before + args[3])
  bump(c, 'unlogged', -args[3])
  close(c)
end, FREES)

-- args: n. Returns for some closed queues the run to be read next and the name of its segment.
verb('outbox_runs', function(keys, args)
  local c = open(keys)
  local found = {}
  if call('LLEN', c.prefix .. 'unlogged') >= ENOUGH then return found end
  for _, id in ipairs(call('HRANDFIELD', c.prefix .. 'closed', args[1])) do
    local run = call('LINDEX', closed_runs(c, id), 0)
    if run then
      local text = call('HGET', c.prefix .. 'segments', tostring((unpack_(RUN, run))))
      found[#found + 1] = {id, run, string.match(text, '^%d+ (.*)$')}
    end
  end
  return found
end, FREES)

-- args: number of a closed queue, run, entry, ... The run's entries are in memory again.
verb('refill_outbox', function(keys, args)
  local c = open(keys)
  local said = call('HGET', c.prefix .. 'closed', args[1])
  if not said or call('LREM', closed_runs(c, args[1]), 1, args[2]) == 0 then return 0 end
  forget_run(c, args[2])
  to_outbox(c, args[1], said, {unpack(args, 3)})
  return 1
end, FREES)
