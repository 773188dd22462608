local ROBOTS, REST = '>I4I6BBB', '>I6B' -- the rest only where there is any
local RULES = {allow = 1, disallow = 2, rules = 3}
local RULE_NAMES = {'allow', 'disallow', 'rules'}

local function parse_robots(text)
  if not text then return {version = 0, expires = 0, rule = 1, attempt = 0, expiries = 0, rest = 0, why = 0} end
  local r, next = {}, nil
  r.version,
  r.expires, -- by TIME
  r.rule,
  r.attempt, -- times in a row that it could not be had, or a page of the origin
  r.expiries, -- times in a row that its worker was not heard of again
  next = unpack_(ROBOTS, text)
  r.rest, r.why = 0, 0
  if #text >= next then
    r.rest, -- the origin is asked nothing before
    r.why = unpack_(REST, text, next) -- of RESTS
  end
  return r
end

local function read_robots(c, origin) return parse_robots(call('HGET', c.robots, origin)) end

local function write_robots(c, origin, r)
  local text = pack(ROBOTS, r.version, min(r.expires, FOREVER), r.rule, min(r.attempt, 255), r.expiries)
  if r.rest > 0 then text = text .. pack(REST, min(r.rest, FOREVER), r.why) end
  call('HSET', c.robots, origin, text)
end

local function store_robots(c, origin, rule, body, ttl)
  local version = read_robots(c, origin).version + 1
  write_robots(c, origin, {version = version, expires = c.wall + ttl, rule = RULES[rule], attempt = 0, expiries = 0, rest = 0})
  if body == '' then
    if version > 1 then call('HDEL', c.prefix .. 'bodies', origin) end
  else
    call('HSET', c.prefix .. 'bodies', origin, body)
  end
end
