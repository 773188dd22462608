-- A call from Lua costs more than most of what is called. What a function reads one by one is read together beforehand, and
-- what it writes into hosts, leases, deadlines and ready is written when it closes, all of one key at once.

local CHUNK = 500 -- arguments; Lua takes some thousands

-- Every so manieth argument, from one on.
local function every(args, from, step)
  local found = {}
  for i = from, #args, step do found[#found + 1] = args[i] end
  return found
end

local function integer(number) return string.format('%.0f', number) end

local function in_chunks(command, key, args)
  for first = 1, #args, CHUNK do call(command, key, unpack(args, first, min(first + CHUNK - 1, #args))) end
end

-- Every so manieth argument, from one on.
local function every(args, from, step)
  local found = {}
  for i = from, #args, step do found[#found + 1] = args[i] end
  return found
end

-- What a hash says under many fields, in their order.
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

-- A field of a hash, or false for none of it.
local function put(c, key, field, text) pending(c.puts, key)[field] = text end

-- What a field says, or will when the function closes.
local function get(c, key, field)
  local text = pending(c.puts, key)[field]
  if text == nil then return call('HGET', key, field) end
  return text
end

-- A member of a zset, or false for no such member.
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
