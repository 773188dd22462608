-- The fleet of a crawl (frontier/fleet_state.py). All keys are of the home:
--   fleet    hash  what is wanted, the controller and its lease
--   members  hash  name -> until when it counts as alive, when it was seen by TIME, its order, and what it says of itself
--   claims   hash  part -> the member that processes it

local WANTED = {'crawlers', 'processors', 'exporters', 'paused', 'stopping', 'version'}

local function read_member(text)
  local till, seen, order, facts = string.match(text or '', '^(%d+) (%d+) (%a+) (.*)$')
  if not till then return nil end
  return {till = tonumber(till), seen = tonumber(seen), order = order, facts = facts}
end

local function write_member(c, name, m)
  call('HSET', c.prefix .. 'members', name, table.concat({integer(m.till), integer(m.seen), m.order, m.facts}, ' '))
end

-- Whether a call comes from the controller that holds the fleet.
local function is_held(c, controller, token)
  local f = call('HMGET', c.prefix .. 'fleet', 'controller', 'token')
  return f[1] == controller and f[2] == token
end

-- args: controller, ttl_ms, version, then for crawlers, processors and exporters: the number to set (-1: none), and the
-- number to set if none is; then 1 if the caller waited for another controller, whose order to stop it carries out.
-- Returns the number of the lease (0: another holds it), the holder, and the ms left.
verb('fleet_begin', function(keys, args)
  local c = open(keys)
  local key = c.prefix .. 'fleet'
  local f = call('HMGET', key, 'controller', 'token', 'until')
  local left = (tonumber(f[3]) or 0) - c.now
  if f[1] and f[1] ~= args[1] and left > 0 then return {0, f[1], left} end
  local token = tonumber(f[2] or 0)
  if f[1] ~= args[1] or left <= 0 then token = token + 1 end
  for i, kind in ipairs({'crawlers', 'processors', 'exporters'}) do
    local given, usual = args[2 + 2 * i], args[3 + 2 * i]
    if given ~= '-1' then call('HSET', key, kind, given) else call('HSETNX', key, kind, usual) end
  end
  call('HSETNX', key, 'paused', '0')
  call('HSET', key, 'controller', args[1], 'token', integer(token), 'until', integer(c.now + args[2]), 'seen', integer(c.wall),
    'version', args[3], 'note', '')
  if (f[1] ~= args[1] or left <= 0) and args[10] == '0' then call('HSET', key, 'stopping', '0') end
  return {token, args[1], tonumber(args[2])}
end)

-- args: controller, token, ttl_ms, note, 1 if the frontier is drained. Returns 1, or 0 if another holds the fleet.
verb('fleet_renew', function(keys, args)
  local c = open(keys)
  if not is_held(c, args[1], args[2]) then return 0 end
  call('HSET', c.prefix .. 'fleet', 'until', integer(c.now + args[3]), 'seen', integer(c.wall), 'note', args[4],
    'drained', args[5])
  return 1
end)

-- args: controller, token, 1 if what is wanted is forgotten too. The fleet has no controller any more.
verb('fleet_release', function(keys, args)
  local c = open(keys)
  if not is_held(c, args[1], args[2]) then return 0 end
  local key = c.prefix .. 'fleet'
  call('HDEL', key, 'controller', 'until', 'note')
  if args[3] == '1' then call('HDEL', key, 'crawlers', 'processors', 'exporters') end
  return 1
end, FREES)

-- args: controller and token of a controller ('', 0: an operator), then field, value, ... Returns 0 if there is no
-- fleet, or if another holds it.
verb('fleet_set', function(keys, args)
  local c = open(keys)
  local key = c.prefix .. 'fleet'
  if call('EXISTS', key) == 0 or (args[1] ~= '' and not is_held(c, args[1], args[2])) then return 0 end
  call('HSET', key, unpack(args, 3))
  return 1
end, FREES)

-- Returns nothing if there never was a fleet; else TIME, the controller that holds the fleet, when one was seen,
-- the note, the last export, whether the frontier is drained, what is wanted, and of each member: name, seen, whether it is alive, order, facts.
verb('fleet', function(keys)
  local c = look(keys)
  local key = c.prefix .. 'fleet'
  if call('EXISTS', key) == 0 then return {} end
  local f = call('HMGET', key, 'controller', 'until', 'seen', 'note', 'exported', 'exported_pages', 'drained',
    unpack(WANTED))
  local found, held = {c.wall}, f[1] and (tonumber(f[2]) or 0) > c.now
  found[2] = held and f[1] or ''
  for i = 3, 13 do found[i] = f[i] or '' end
  local all = call('HGETALL', c.prefix .. 'members')
  for i = 1, #all, 2 do
    local m = read_member(all[i + 1])
    found[#found + 1] = {all[i], m.seen, m.till > c.now and 1 or 0, m.order, m.facts}
  end
  return found
end, READS)

-- args: controller, token, member, ttl_ms, facts. Returns 0 if another holds the fleet.
verb('member_add', function(keys, args)
  local c = open(keys)
  if not is_held(c, args[1], args[2]) then return 0 end
  if call('HEXISTS', c.prefix .. 'members', args[3]) == 0 then
    write_member(c, args[3], {till = c.now + args[4], seen = c.wall, order = 'run', facts = args[5]})
  end
  return 1
end)

-- args: member, ttl_ms, facts. Returns its order. A member that was given up, or that has ended, stays so.
verb('member_beat', function(keys, args)
  local c = open(keys)
  local m = read_member(call('HGET', c.prefix .. 'members', args[1]))
  if not m or m.order == 'ended' then return 'gone' end
  write_member(c, args[1], {till = c.now + args[2], seen = c.wall, order = m.order, facts = args[3]})
  if m.order == 'run' and call('HGET', c.prefix .. 'fleet', 'paused') == '1' then return 'pause' end
  return m.order
end, FREES)

-- args: controller, token, member, order. Returns 0 if another holds the fleet.
verb('member_order', function(keys, args)
  local c = open(keys)
  if not is_held(c, args[1], args[2]) then return 0 end
  local m = read_member(call('HGET', c.prefix .. 'members', args[3]))
  if m and m.order == 'run' then
    m.order = args[4]
    write_member(c, args[3], m)
  end
  return 1
end, FREES)

-- args: member, how it ended. The controller sees it off (`member_remove`).
verb('member_end', function(keys, args)
  local c = open(keys)
  local m = read_member(call('HGET', c.prefix .. 'members', args[1]))
  if m then write_member(c, args[1], {till = c.now, seen = c.wall, order = 'ended', facts = args[2]}) end
end, FREES)

-- args: controller, token, member, ... One that has sent a heartbeat meanwhile stays: its machine, or that of the
-- controller, slept. Returns 0 if another holds the fleet.
verb('member_remove', function(keys, args)
  local c = open(keys)
  if not is_held(c, args[1], args[2]) then return 0 end
  local gone, claims = {}, call('HGETALL', c.prefix .. 'claims') -- a few for each member
  for i = 3, #args do
    local m = read_member(call('HGET', c.prefix .. 'members', args[i]))
    if not m or m.order == 'ended' or m.till <= c.now then
      call('HDEL', c.prefix .. 'members', args[i])
      gone[args[i]] = true
    end
  end
  for i = 1, #claims, 2 do
    if gone[claims[i + 1]] then call('HDEL', c.prefix .. 'claims', claims[i]) end
  end
  return 1
end, FREES)

-- args: member, pages. The member has completed an export: one less is wanted.
verb('exported', function(keys, args)
  local c = open(keys)
  local key = c.prefix .. 'fleet'
  if call('HEXISTS', c.prefix .. 'members', args[1]) == 0 or call('HGET', key, 'exporter') == args[1] then return end
  call('HSET', key, 'exporter', args[1], 'exported', integer(c.wall), 'exported_pages', args[2],
    'exporters', max(tonumber(call('HGET', key, 'exporters') or 0) - 1, 0))
end, FREES)

-- args: member, n, part, ... Returns at most n of the parts, which the member alone processes from now on, for as long
-- as it sends heartbeats. Parts that it has claimed already come back too. While the fleet is paused, none does.
verb('claim', function(keys, args)
  local c = open(keys)
  if call('HGET', c.prefix .. 'fleet', 'paused') == '1' then return {} end
  local claims, taken, alive = c.prefix .. 'claims', {}, {}
  for i = 3, #args do
    if #taken >= tonumber(args[2]) then break end
    local holder = call('HGET', claims, args[i])
    if holder and holder ~= args[1] and alive[holder] == nil then
      local m = read_member(call('HGET', c.prefix .. 'members', holder))
      alive[holder] = m ~= nil and m.order ~= 'ended' and m.till > c.now
    end
    if not holder or holder == args[1] or not alive[holder] then
      call('HSET', claims, args[i], args[1])
      taken[#taken + 1] = args[i]
    end
  end
  return taken
end)

-- args: member, part, ... The member has ended its work on these parts.
verb('unclaim', function(keys, args)
  local c = open(keys)
  for i = 2, #args do
    if call('HGET', c.prefix .. 'claims', args[i]) == args[1] then call('HDEL', c.prefix .. 'claims', args[i]) end
  end
end, FREES)

-- Of a partition. Returns how many hosts with waiting URLs may be asked now.
verb('ready_hosts', function(keys)
  local c, found = look(keys), 0
  for n = 0, RANKS - 1 do found = found + call('ZCOUNT', c.ready .. n, '-inf', c.now) end
  return found
end, READS)
