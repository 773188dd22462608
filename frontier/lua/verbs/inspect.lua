-- The questions of an operator. Nothing here changes anything.

-- The origins that rest of a host that has several, as far as its head goes: origin, for how many ms, why.
local function resting(c, h)
  local found, known = {}, {}
  if not has(h.flags, SEVERAL) or h.head == 0 then return found end
  for _, entry in ipairs(call('LRANGE', queue(c, h), 0, h.head - 1)) do
    local origin = origin_of(h.name, entry)
    if not known[origin] then
      known[origin] = true
      local r = read_robots(c, origin)
      if r.rest > c.now then found[#found + 1] = {origin, r.rest - c.now, RESTS[r.why] or ''} end
    end
  end
  return found
end

-- For how many ms a host is asked nothing: 0 if the time is over and a probe has yet to close its circuit, -1 for no
-- rest.
local function rest_of(c, h)
  if h.held > c.now then return h.held - c.now end
  return h.trips > 0 and 0 or -1
end

local function host_row(c, h, dead, rest, origins)
  local level, templates = starvation(c, h)
  return {h.name, h.waiting, h.open, h.pace, dead and death(h) or '', rest, RESTS[h.why] or '', origins, level, templates}
end

-- args: host. Returns it in a list, or an empty list if it is not known.
verb('host', function(keys, args)
  local c = look(keys)
  local h = read_host(c, args[1])
  if not h then return {} end
  return {host_row(c, h, has(h.flags, DEAD), rest_of(c, h), resting(c, h))}
end, READS)

-- args: cursor, n, 1 for only those that rest, are dead or repeat themselves. Returns the next cursor, and hosts.
verb('hosts', function(keys, args)
  local c = look(keys)
  local told, found = call('HSCAN', c.hosts, args[1], 'COUNT', args[2]), {}
  for i = 1, #told[2], 2 do
    local h = parse_host(told[2][i], told[2][i + 1])
    local dead, rest, origins = has(h.flags, DEAD), rest_of(c, h), resting(c, h)
    local row = host_row(c, h, dead, rest, origins)
    if args[3] ~= '1' or dead or rest >= 0 or #origins > 0 or row[9] > 0 then found[#found + 1] = row end
  end
  return {told[1], found}
end, READS)

-- args: host, hash of a URL. Returns whether the URL is known, how many entries of its host wait, in memory and in
-- storage, and for how many ms and why the host rests.
verb('known', function(keys, args)
  local c = look(keys)
  local h = read_host(c, args[1])
  if not h then return {0, 0, 0, 0, ''} end
  local is_known = known(c, h.name, h.added, args[2]) and 1 or 0
  return {is_known, h.head + h.back, h.tail, max(h.held - c.now, 0), RESTS[h.why] or ''}
end, READS)

-- args: host, from, n. Returns entries that wait in memory.
verb('queued', function(keys, args)
  local c = look(keys)
  return call('LRANGE', c.prefix .. 'q:' .. args[1], args[2], args[2] + args[3] - 1)
end, READS)

-- args: host. Returns its pages that are leased: worker, entry.
verb('leased', function(keys, args)
  local c, found = look(keys), {}
  for _, text in ipairs(call('HVALS', c.leases)) do
    local l = parse_lease(text)
    if l.host == args[1] and l.kind == PAGE then found[#found + 1] = {l.worker, l.subject} end
  end
  return found
end, READS)

-- args: `later` or `visits`, host, cursor, n. Returns the next cursor, and entries of the host that are due at a time:
-- in how many ms, entry.
verb('due_later', function(keys, args)
  local c = look(keys)
  local now = args[1] == 'later' and c.now or c.wall
  local told, found = call('ZSCAN', c.prefix .. args[1], args[3], 'COUNT', args[4]), {}
  local begin = args[2] .. '\0'
  for i = 1, #told[2], 2 do
    local member = told[2][i]
    if sub(member, 1, #begin) == begin then
      found[#found + 1] = {max(tonumber(told[2][i + 1]) - now, 0), sub(member, #begin + 1)}
    end
  end
  return {told[1], found}
end, READS)
