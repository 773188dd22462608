local ROBOTS = '>I4I6BBB'
local RULES = {allow = 1, disallow = 2, rules = 3}
local RULE_NAMES = {'allow', 'disallow', 'rules'}

local function parse_robots(text)
  if not text then return {version = 0, expires = 0, rule = 1, attempt = 0, expiries = 0} end
  local r = {}
  r.version,
  r.expires, -- by TIME
  r.rule,
  r.attempt, -- times in a row that it could not be had
  r.expiries = unpack_(ROBOTS, text) -- times in a row that its worker was not heard of again
  return r
end

local function read_robots(c, origin) return parse_robots(call('HGET', c.robots, origin)) end

local function write_robots(c, origin, r)
  call('HSET', c.robots, origin, pack(ROBOTS, r.version, min(r.expires, FOREVER), r.rule, min(r.attempt, 255), r.expiries))
end

local function store_robots(c, origin, rule, body, ttl)
  local version = read_robots(c, origin).version + 1
  write_robots(c, origin, {version = version, expires = c.wall + ttl, rule = RULES[rule], attempt = 0, expiries = 0})
  if body == '' then
    if version > 1 then call('HDEL', c.prefix .. 'bodies', origin) end
  else
    call('HSET', c.prefix .. 'bodies', origin, body)
  end
end
