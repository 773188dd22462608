local OPENS_AT = 4 / 5 -- of the limit: a gate that opens at the limit would flutter

-- The newest report while it counts, else nil.
local function read_flow(c)
  local f = call('HMGET', c.prefix .. 'flow', 'follower', 'backlog', 'limit', 'from', 'reported', 'until', 'shut', 'archived', 'oldest')
  if not f[1] or tonumber(f[6]) <= c.now then return nil end
  local archived = tonumber(f[8] or 0)
  return {
    follower = f[1],
    backlog = tonumber(f[2]), -- bytes, as reported
    limit = tonumber(f[3]),
    estimate = tonumber(f[2]) + archived - tonumber(f[4]), -- and the bytes archived since
    reported = tonumber(f[5]),
    shut = f[7] == '1',
    oldest = tonumber(f[9] or 0), -- ms for which the oldest of the backlog had waited at the report
  }
end

local function tell_flow(f)
  return {f.follower, f.backlog, f.limit, f.estimate, f.reported, f.shut and 1 or 0, f.oldest}
end

-- args: bytes that were archived, which the follower has still to process
verb('archived', function(keys, args)
  local c = open(keys)
  call('HINCRBY', c.prefix .. 'flow', 'archived', args[1])
  local f = read_flow(c)
  if f and f.estimate > f.limit then call('HSET', c.prefix .. 'flow', 'shut', '1') end
end, FREES)

-- args: follower, backlog, limit, ttl_ms, ms for which the oldest of the backlog has waited. Returns the state from now on.
verb('follow', function(keys, args)
  local c = open(keys)
  local before = read_flow(c)
  local backlog, limit = tonumber(args[2]), tonumber(args[3])
  local shut = backlog > limit or (before ~= nil and before.shut and backlog > limit * OPENS_AT)
  local key = c.prefix .. 'flow'
  call('HSET', key, 'follower', args[1], 'backlog', args[2], 'limit', args[3],
    'from', call('HGET', key, 'archived') or '0', 'reported', integer(c.wall),
    'until', integer(c.now + args[4]), 'shut', shut and '1' or '0',
    'oldest', args[5])
  return tell_flow(read_flow(c))
end)

-- args: follower
verb('unfollow', function(keys, args)
  local key = open(keys).prefix .. 'flow'
  if call('HGET', key, 'follower') == args[1] then
    call('HDEL', key, 'follower', 'backlog', 'limit', 'from', 'reported', 'until', 'shut', 'oldest')
  end
end)

verb('flow', function(keys)
  local f = read_flow(look(keys))
  return f and tell_flow(f) or {}
end, READS)

-- Bytes by which the archive has ever grown.
verb('archived_bytes', function(keys)
  return tonumber(call('HGET', look(keys).prefix .. 'flow', 'archived') or 0)
end, READS)

-- args: the revision of the settings that is known, the worker. Returns the version, whether the gate is shut, the
-- revision, the settings if they are of another revision, and the creation id of the crawl.
verb('gate', function(keys, args)
  local c = look(keys)
  if is_taken(c, args[2]) then return refusal(args[2]) end
  local f = call('HMGET', c.prefix .. 'meta', 'version', 'revision', 'settings', 'rebuilding', 'made')
  local revision, flow = tonumber(f[2] or 0), read_flow(c)
  local paused = call('HGET', c.prefix .. 'fleet', 'paused') == '1'
  return {f[1], (f[4] or paused or flow and flow.shut) and 1 or 0, revision, revision ~= tonumber(args[1]) and f[3] or '', f[5] or ''}
end, READS)
