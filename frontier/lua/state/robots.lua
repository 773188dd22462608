local ORPHAN = 128 -- added to the expiries of a page's entry, or of a robots record, once a worker that held it died
local ROBOTS, REST = '>I4I6BBB', '>I6B' -- REST only if there is a rest
local RULES = {allow = 1, disallow = 2, rules = 3}
local RULE_NAMES = {'allow', 'disallow', 'rules'}

local function parse_robots(text)
  if not text then return {version = 0, expires = 0, rule = 1, attempt = 0, expiries = 0, rest = 0, why = 0} end
  local r, next = {}, nil
  r.version,
  r.expires, -- by TIME
  r.rule,
  r.attempt, -- times in a row that it, or a page of the origin, could not be fetched
  r.expiries, -- times that its worker was not heard of again since it was read last
  next = unpack_(ROBOTS, text)
  r.rest, r.why = 0, 0
  if #text >= next then
    r.rest, -- the origin is asked nothing before this time
    r.why = unpack_(REST, text, next) -- code of RESTS
  end
  return r
end

local function read_robots(c, origin) return parse_robots(call('HGET', c.robots, origin)) end

local function write_robots(c, origin, r)
  local text = pack(ROBOTS, r.version, min(r.expires, FOREVER), r.rule, min(r.attempt, 255), r.expiries)
  if r.rest > 0 then text = text .. pack(REST, min(r.rest, FOREVER), r.why) end
  call('HSET', c.robots, origin, text)
end

local LARGE_BODY = 16384 -- bytes, compressed: some 100 KiB of rules
local LARGE_KEPT_MS, BODY_KEPT_MS = 3600000, 86400000 -- RFC 9309, section 2.4: robots.txt is not kept for longer than a day

-- When a review next decides whether a body is still needed.
local function look_again(c, origin, size)
  call('ZADD', c.prefix .. 'kept', c.wall + (size > LARGE_BODY and LARGE_KEPT_MS or BODY_KEPT_MS), origin)
end

local function store_robots(c, origin, rule, body, ttl)
  local r = read_robots(c, origin)
  local version = r.version + 1
  -- If it could not be read, it is still what workers may have died of.
  local expiries = rule == 'disallow' and r.expiries >= ORPHAN and ORPHAN or 0
  write_robots(c, origin, {version = version, expires = c.wall + ttl, rule = RULES[rule], attempt = 0, expiries = expiries, rest = 0})
  if body == '' then
    if version > 1 then call('HDEL', c.prefix .. 'bodies', origin) end
  else
    call('HSET', c.prefix .. 'bodies', origin, body)
  end
  if rule == 'rules' then
    look_again(c, origin, #body)
  else
    call('ZREM', c.prefix .. 'kept', origin)
  end
end

local function host_of(c, origin)
  local place = string.match(origin, '^%a+://(.*)$')
  return read_host(c, place) or read_host(c, (string.gsub(place, ':%d+$', '')))
end

-- Forget bodies that have been kept until `due`, unless an entry of their host waits or an exchange is under way. The
-- next URL of the host asks for them anew.
local function forget_bodies(c, most, due)
  for _, origin in ipairs(call('ZRANGE', c.prefix .. 'kept', '-inf', due, 'BYSCORE', 'LIMIT', 0, most)) do
    local h = host_of(c, origin)
    if h and h.waiting + h.open > 0 then
      look_again(c, origin, call('HSTRLEN', c.prefix .. 'bodies', origin))
    else
      call('ZREM', c.prefix .. 'kept', origin)
      call('HDEL', c.prefix .. 'bodies', origin)
      local r = read_robots(c, origin)
      r.expires = 0
      write_robots(c, origin, r)
    end
  end
end
