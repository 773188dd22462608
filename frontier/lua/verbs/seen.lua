-- A URL is 7 bytes of a hash. Five are its fingerprint, which is kept in a bucket of some LOAD; three of these choose
-- the bucket. Tables grow by linear hashing (Litwin, VLDB 1980), a bucket at a time. A host has a table of its own:
-- most links of a page are of its own host and are found together there. From MOST URLs on, the further URLs of a host
-- go into one table of the partition, which the other two bytes spread over BASES buckets before any is split. A URL
-- that was never added is taken for known if a fingerprint of its bucket equals its own: after g doublings with odds of
-- LOAD / 2^(40 - g), at most 1e-8 in a host's table, and in the partition's 1e-9 for ten million URLs, 1e-7 for a
-- billion.

local known, remember, load_all

do -- names for this file only: a chunk has at most 200 local names

local LOAD = 128
local MOST = 8192
local BASES = 1024

local function load(c, field)
  local text = c.prints[field]
  if not text then
    text = call('HGET', c.seen, field) or ''
    c.prints[field] = text
  end
  return text
end

local function keep_prints(c, field, text)
  c.prints[field] = text
  put(c, c.seen, field, text ~= '' and text)
end

local function contains(bucket, print)
  local from = find(bucket, print, 1, true)
  while from do
    if from % 5 == 1 then return true end
    from = find(bucket, print, from + 1, true)
  end
  return false
end

-- The largest number of doublings of `least` that does not exceed `buckets`.
local function rounds(buckets, least)
  local size = least
  while size * 2 <= buckets do size = size * 2 end
  return size
end

local function address(number, buckets, size)
  local i = number % (2 * size)
  if i >= buckets then return i - size end
  return i
end

local function number_of(a, b, d) return (a * 256 + b) * 256 + d end

-- Move fingerprints from bucket `buckets - size` to a new one, `buckets`, if they belong there. `base` and `bases` are
-- those of the whole table.
local function split(c, prefix, buckets, size, base, bases)
  local stay, go = {}, {}
  local old = prefix .. (buckets - size)
  local text = load(c, old)
  for i = 1, #text, 5 do
    local to = (base + bases * number_of(byte(text, i, i + 2))) % (2 * size) == buckets and go or stay
    to[#to + 1] = sub(text, i, i + 4)
  end
  keep_prints(c, old, table.concat(stay))
  keep_prints(c, prefix .. buckets, table.concat(go))
end

local function tables_of(n) return max(1, floor((min(n, MOST) + LOAD - 1) / LOAD)) end

local function host_field(c, name, n, hash)
  local t = c.tables[name]
  if not t or n > t.full then
    local buckets = tables_of(n)
    t = {buckets = buckets, size = rounds(buckets, 1), prefix = name .. '\0', first = name .. '\0' .. '0'}
    t.full = buckets * LOAD >= MOST and FOREVER or buckets * LOAD
    c.tables[name] = t
  end
  if t.buckets == 1 then return t.first end
  return t.prefix .. address(number_of(byte(hash, 3, 5)), t.buckets, t.size)
end

local function wide_field(c, hash)
  if not c.buckets then
    local f = call('HMGET', c.count, 'buckets', 'wide')
    c.buckets, c.wide = tonumber(f[1]) or BASES, tonumber(f[2]) or 0
    c.size = rounds(c.buckets, BASES)
  end
  local x, y, a, b, d = byte(hash, 1, 5)
  return tostring(address((x * 256 + y) % BASES + BASES * number_of(a, b, d), c.buckets, c.size))
end

-- Whether a URL of a host that has n URLs is known.
function known(c, name, n, hash)
  local print = sub(hash, 3)
  return contains(load(c, host_field(c, name, n, hash)), print)
    or (n >= MOST and contains(load(c, wide_field(c, hash)), print))
end

function remember(c, name, n, hash)
  local print = sub(hash, 3)
  if n < MOST then
    local buckets = tables_of(n)
    if tables_of(n + 1) > buckets then split(c, name .. '\0', buckets, rounds(buckets, 1), 0, 1) end
    local field = host_field(c, name, n + 1, hash)
    keep_prints(c, field, load(c, field) .. print)
    return
  end
  local field = wide_field(c, hash)
  keep_prints(c, field, load(c, field) .. print)
  c.wide = c.wide + 1
  bump(c, 'wide', 1)
  if c.wide > LOAD * c.buckets then
    split(c, '', c.buckets, c.size, (c.buckets - c.size) % BASES, BASES)
    c.buckets = c.buckets + 1
    c.size = rounds(c.buckets, c.size)
    call('HSET', c.count, 'buckets', c.buckets)
  end
end

-- Read at once the hosts that a call names and the buckets that it will search; items are of `width` arguments, the
-- first of which is a hash.
function load_all(c, args, from, width)
  local added_at = struct.size(BEFORE_ADDED) + 1
  local names, starts = {}, {}
  local i = from
  while i <= #args do
    names[#names + 1], starts[#starts + 1] = args[i], i
    i = i + 3 + width * args[i + 2]
  end
  local numbers, fields, wanted = {}, {}, {}
  for j, text in ipairs(get_many(c.hosts, names)) do
    local name, start = names[j], starts[j]
    local n = text and unpack_('>I4', text, added_at) or 0
    numbers[name] = n
    c.texts[name] = text
    for k = start + 3, start + 2 + width * args[start + 2], width do
      local field = n > 0 and host_field(c, name, n, args[k])
      if field and not wanted[field] then
        wanted[field] = true
        fields[#fields + 1] = field
      end
    end
  end
  for j, text in ipairs(get_many(c.seen, fields)) do c.prints[fields[j]] = text or '' end
  return numbers
end

end
