-- If a host has several origins, faults of one origin hold and bury no other: that origin rests, for longer each time,
-- and is given up in the end. Its pages end then like those of any origin whose robots.txt cannot be fetched.

local OWN = {connect = true, reset = true, timeout = true, tls = true} -- faults of a page
local GIVEN_UP_MS = 3600000

local function given_up(r) return RULE_NAMES[r.rule] == 'disallow' end

-- Hold an origin that has failed once more, or give it up.
local function rest_origin(c, origin, r, wait, fault, reason)
  if r.attempt >= (r.version > 0 and not given_up(r) and LIVES or STILLBORN) then
    local died = SILENT[fault] and '\0' .. death_in_words(death_of(fault, reason)) or '' -- no deflated body begins with NUL
    store_robots(c, origin, 'disallow', died, GIVEN_UP_MS)
  else
    r.rest, r.why = c.soon + wait, rest_code(reason, fault)
    write_robots(c, origin, r)
  end
end

-- `judge` for the exchange of a page.
local function judge_page(c, h, origin, fault, rest, granted, reason)
  if not has(h.flags, SEVERAL) or (fault ~= '' and not OWN[fault]) then
    return judge(c, h, fault, rest, granted, reason)
  end
  local r = read_robots(c, origin)
  if fault == '' then
    if r.attempt > 0 then
      r.attempt, r.rest = 0, 0
      write_robots(c, origin, r)
    end
    return judge(c, h, fault, rest, granted, reason)
  end
  if granted >= r.rest and not given_up(r) then
    local rule = FAULTS[fault]
    r.attempt = r.attempt + 1
    if r.attempt >= rule[1] then
      rest_origin(c, origin, r, scaled(c, min(rule[2] * 2 ^ (r.attempt - rule[1]), LONGEST_HOLD_MS)), fault, reason)
    else
      write_robots(c, origin, r)
    end
  end
  hold(c, h, rest, rest_code(reason, fault))
end

-- End the rests of a host's origins.
local function wake_origins(c, h)
  if h.head == 0 then return end
  for _, entry in ipairs(call('LRANGE', queue(c, h), 0, h.head - 1)) do
    local origin = origin_of(h.name, entry)
    local r = read_robots(c, origin)
    if r.rest > 0 then
      r.rest = 0
      write_robots(c, origin, r)
    end
  end
end
