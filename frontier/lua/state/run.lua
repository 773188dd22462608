-- segment, offset, length, entries, lowest level, CRC-32

local RUN = '>I4I4I4I2I4I4'

local function runs(c, h) return c.prefix .. 'r:' .. h.name end

local function forget_run(c, run)
  local segment = tostring((unpack_(RUN, run)))
  local text = call('HGET', c.prefix .. 'segments', segment)
  local left, name = string.match(text, '^(%d+) (.*)$')
  if left == '1' then
    call('HDEL', c.prefix .. 'segments', segment)
    call('HSET', c.prefix .. 'empty', name, c.wall)
  else
    call('HSET', c.prefix .. 'segments', segment, (left - 1) .. ' ' .. name)
  end
end

-- Settle every waiting entry of a host.
local function bury(c, h, outcome, reason)
  if h.waiting > 0 then
    local id = call('HINCRBY', c.count, 'closings', 1)
    if h.head + h.back > 0 then call('RENAME', queue(c, h), closed_queue(c, id)) end
    if h.tail > 0 then call('RENAME', runs(c, h), closed_runs(c, id)) end
    call('HSET', c.prefix .. 'closed', id, conclusion(c.wall, outcome, reason, h.name))
    conclude(c, outcome, reason, h.waiting)
    bump(c, 'unlogged', h.waiting)
  end
  bump(c, 'waiting', -h.waiting)
  bump(c, 'tail', -h.tail)
  local buried = h.waiting
  h.waiting, h.head, h.back, h.tail, h.turn = 0, 0, 0, 0, (h.turn + 1) % TURNS
  watch_back(c, h)
  watch_head(c, h)
  return buried
end
