local GRAVES = 64 -- that are looked into by one call
local ENOUGH = 16384 -- entries in memory that wait to be logged: no more are fetched from storage

local function exhume(c, id, said, entries)
  for _, entry in ipairs(entries) do call('RPUSH', c.prefix .. 'unlogged', said .. entry) end
  if call('EXISTS', grave_queue(c, id), grave_runs(c, id)) == 0 then call('HDEL', c.prefix .. 'graves', id) end
end

-- args: n ; how many were logged before, and up to n that are to be
verb('unlogged', function(keys, args)
  local c = open(keys)
  local key, n = c.prefix .. 'unlogged', tonumber(args[1])
  local room = n - call('LLEN', key)
  if room > 0 then
    local graves = call('HRANDFIELD', c.prefix .. 'graves', GRAVES, 'WITHVALUES')
    for i = 1, #graves, 2 do
      local entries = room > 0 and call('LPOP', grave_queue(c, graves[i]), room) or {}
      exhume(c, graves[i], graves[i + 1], entries or {})
      room = room - #(entries or {})
    end
  end
  local found = call('LRANGE', key, 0, n - 1)
  table.insert(found, 1, tonumber(call('HGET', c.count, 'logged') or 0))
  return found
end, FREES)

-- args: how many were logged before, n ; the next n are logged
verb('logged', function(keys, args)
  local c = open(keys)
  local before = tonumber(call('HGET', c.count, 'logged') or 0)
  if before ~= tonumber(args[1]) then return end
  call('LTRIM', c.prefix .. 'unlogged', args[2], -1)
  call('HSET', c.count, 'logged', before + args[2])
  bump(c, 'unlogged', -args[2])
  close(c)
end, FREES)

-- args: n ; of some graves the run to be read next and the name of its segment
verb('buried', function(keys, args)
  local c = open(keys)
  local found = {}
  if call('LLEN', c.prefix .. 'unlogged') >= ENOUGH then return found end
  for _, id in ipairs(call('HRANDFIELD', c.prefix .. 'graves', args[1])) do
    local run = call('LINDEX', grave_runs(c, id), 0)
    if run then
      local text = call('HGET', c.prefix .. 'segments', tostring((unpack_(RUN, run))))
      found[#found + 1] = {id, run, string.match(text, '^%d+ (.*)$')}
    end
  end
  return found
end, FREES)

-- args: grave, run, entry, ... : the run's entries are in memory again
verb('exhume', function(keys, args)
  local c = open(keys)
  local said = call('HGET', c.prefix .. 'graves', args[1])
  if not said or call('LREM', grave_runs(c, args[1]), 1, args[2]) == 0 then return 0 end
  forget_run(c, args[2])
  exhume(c, args[1], said, {unpack(args, 3)})
  return 1
end, FREES)
