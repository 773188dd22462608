-- A call from Lua costs more than most commands that it makes. So a function reads its items together beforehand, and
-- writes its changes of hosts, leases, deadlines and ready when it closes, all of one key at once.

local CHUNK = 500 -- arguments; Lua takes some thousands

-- Every n-th argument, beginning with one of them.
local function every(args, from, step)
  local found = {}
  for i = from, #args, step do found[#found + 1] = args[i] end
  return found
end

local function integer(number) return string.format('%.0f', number) end

local function in_chunks(command, key, args)
  for first = 1, #args, CHUNK do call(command, key, unpack(args, first, min(first + CHUNK - 1, #args))) end
end

-- Every n-th argument, beginning with one of them.
local function every(args, from, step)
  local found = {}
  for i = from, #args, step do found[#found + 1] = args[i] end
  return found
end

-- The values of many fields of a hash, in the order of the fields.
local function get_many(key, fields)
  local found = {}
  for first = 1, #fields, CHUNK do
    local last = min(first + CHUNK - 1, #fields)
    for i, text in ipairs(call('HMGET', key, unpack(fields, first, last))) do found[first + i - 1] = text end
  end
  return found
end

local function pending(all, key)
  local found = all[key]
  if not found then
    found = {}
    all[key] = found
  end
  return found
end

-- A field of a hash; false if it is missing.
local function put(c, key, field, text) pending(c.puts, key)[field] = text end

-- The value of a field, including writes that wait until the function closes.
local function get(c, key, field)
  local text = pending(c.puts, key)[field]
  if text == nil then return call('HGET', key, field) end
  return text
end

-- The score of a member of a zset; false if it is missing.
local function score(c, key, member, number) pending(c.scores, key)[member] = number end

local function write_scores(c)
  for key, members in pairs(c.scores) do
    local there, gone = {}, {}
    for member, number in pairs(members) do
      if number then
        there[#there + 1] = number
        there[#there + 1] = member
      else
        gone[#gone + 1] = member
      end
    end
    in_chunks('ZADD', key, there)
    in_chunks('ZREM', key, gone)
  end
  c.scores = {}
end

local function write_puts(c)
  for key, fields in pairs(c.puts) do
    local there, gone = {}, {}
    for field, text in pairs(fields) do
      if text then
        there[#there + 1] = field
        there[#there + 1] = text
      else
        gone[#gone + 1] = field
      end
    end
    in_chunks('HSET', key, there)
    in_chunks('HDEL', key, gone)
  end
  c.puts = {}
end
