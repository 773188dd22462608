local HEAD = 32 -- entries in order
local LOW = 8 -- if the head has fewer entries, more are fetched from storage
local BACK = 32 -- entries that are worth a run in storage

local function queue(c, h) return c.prefix .. 'q:' .. h.name end

local function in_order(entries)
  local last = 0
  for _, entry in ipairs(entries) do
    local level = level_of(entry)
    if level < last then return false end
    last = level
  end
  return true
end

local function by_level(entries)
  for i, entry in ipairs(entries) do entries[i] = {level_of(entry), i, entry} end
  table.sort(entries, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
  for i, entry in ipairs(entries) do entries[i] = entry[3] end
  return entries
end

-- Replace the head by entries that are in order.
local function new_head(c, h, entries)
  local key = queue(c, h)
  if h.head > 0 then
    if h.back > 0 then call('LTRIM', key, h.head, -1) else call('DEL', key) end
  end
  for last = #entries, 1, -500 do
    local slice = {}
    for i = last, max(1, last - 499), -1 do slice[#slice + 1] = entries[i] end
    call('LPUSH', key, unpack(slice))
  end
  h.head = #entries
end

local function watch_back(c, h)
  if h.back >= BACK then
    if not has(h.flags, SPILLS) then
      set(h, SPILLS)
      call('SADD', c.prefix .. 'spill', h.name)
    end
  elseif has(h.flags, SPILLS) then
    unset(h, SPILLS)
    call('SREM', c.prefix .. 'spill', h.name)
  end
end

local function watch_head(c, h)
  if h.tail > 0 and h.head <= LOW then
    if not has(h.flags, HUNGRY) then
      set(h, HUNGRY)
      call('SADD', c.prefix .. 'hungry', h.name)
    end
  elseif has(h.flags, HUNGRY) then
    unset(h, HUNGRY)
    call('SREM', c.prefix .. 'hungry', h.name)
  end
end

-- Remove the first n entries of the back. The entries behind them, which may be millions, stay in place.
local function cut_back(c, h, n)
  local key = queue(c, h)
  local head = h.head > 0 and call('LRANGE', key, 0, h.head - 1) or {}
  if n < h.back then call('LTRIM', key, h.head + n, -1) else call('DEL', key) end
  h.head, h.back, h.turn = 0, h.back - n, (h.turn + 1) % TURNS
  new_head(c, h, head)
  watch_back(c, h)
end

-- The head is empty: make the beginning of the back the head.
local function promote(c, h)
  if h.head > 0 or h.back == 0 then return end
  local n = min(HEAD, h.back)
  local entries = call('LRANGE', queue(c, h), 0, n - 1)
  if in_order(entries) then
    h.head, h.back, h.turn = n, h.back - n, (h.turn + 1) % TURNS -- where they stand
    watch_back(c, h)
  else
    cut_back(c, h, n)
    new_head(c, h, by_level(entries))
  end
end

-- Make the head as long as it may be.
local function widen(c, h)
  local n = min(2 * HEAD - h.head, h.back)
  if n <= 0 then return end
  local entries = call('LRANGE', queue(c, h), 0, h.head + n - 1)
  cut_back(c, h, n)
  new_head(c, h, by_level(entries))
end

-- Insert an entry into the head, behind those of its level.
local function insert(c, h, entry)
  local key, level = queue(c, h), level_of(entry)
  local entries = call('LRANGE', key, 0, h.head - 1)
  for _, other in ipairs(entries) do
    if level_of(other) > level then
      call('LINSERT', key, 'BEFORE', other, entry)
      h.head = h.head + 1
      return
    end
  end
  call('LINSERT', key, 'AFTER', entries[#entries], entry)
  h.head = h.head + 1
end

-- Make an entry wait, behind those of its level; the caller places the host.
local function enqueue(c, h, entry)
  local key = queue(c, h)
  if notifies(entry) then set(h, HEARS) end
  h.waiting = h.waiting + 1
  bump(c, 'waiting', 1)
  if h.head == 0 and h.back == 0 then
    call('RPUSH', key, entry)
    h.head = 1
    return
  end
  local other = h.head > 0 and call('LINDEX', key, h.head - 1)
  if other and not same_origin(entry, other) then set(h, SEVERAL) end
  local last = other and level_of(other)
  local level = level_of(entry)
  if last and level < last and h.head < 2 * HEAD then
    insert(c, h, entry)
  elseif last and h.head < HEAD and h.back == 0 and h.tail == 0 then
    call('RPUSH', key, entry)
    h.head = h.head + 1
  else
    call('RPUSH', key, entry)
    h.back = h.back + 1
    watch_back(c, h)
  end
end

-- Put a granted entry back to the place from which it came.
local function put_back(c, h, entry)
  bump(c, 'waiting', 1)
  h.waiting = h.waiting + 1
  local other = h.head > 0 and call('LINDEX', queue(c, h), 0)
  if other and not same_origin(entry, other) then set(h, SEVERAL) end
  if not other or level_of(other) >= level_of(entry) then
    call('LPUSH', queue(c, h), entry)
    h.head = h.head + 1
  else
    insert(c, h, entry)
  end
end
