-- The rule of frontier/urls/novelty.py, which explains it. A standing is a credit, and STARVED once that is spent.

local domain_of, hear, trapped, starvation

do -- names for this file only: a chunk has at most 200 local names

local STARVED = 128
local EARNED, RECOVERED = 9, 16
local TEMPLATE_MOST, TEMPLATE_PROVEN = 96, 88
local HOST_MOST, HOST_PROVEN = 120, 112
local DOMAIN_MOST = 127
local RING = 240 -- bytes: 120 sketches of two
local TEMPLATES = 1000 -- bytes: 200 templates of a host, five each
local OTHERS = '\0\0\0\0' -- all templates beyond these count as one

local function after(standing, most, new, costs)
  local starved = standing >= STARVED and STARVED or 0
  local credit = standing - starved
  if new then credit = min(credit + EARNED, most) elseif costs then credit = max(credit - 1, 0) end
  if credit == 0 then starved = STARVED elseif credit >= RECOVERED then starved = 0 end
  return starved + credit
end

-- Where `item` begins in a text of items of `width` bytes that begin with their keys; nil if it is not there.
local function position_in(text, item, width)
  local from = find(text, item, 1, true)
  while from and from % width ~= 1 do from = find(text, item, from + 1, true) end
  return from
end

-- The standing of a template, its position in the text of all templates of a host, and the template that it counts as.
local function standing_of(text, template)
  local from = position_in(text, template, 5)
  if not from and #text >= TEMPLATES then
    template = OTHERS
    from = position_in(text, OTHERS, 5)
  end
  return from and byte(text, from + 4) or TEMPLATE_FIRST, from, template
end

function domain_of(h) return sub(h.name, -h.owned) end

-- Record what a page of the host said: two bytes of a sketch, and whether it leads on.
function hear(c, h, entry, said)
  local sketch, leads_on = sub(said, 1, 2), byte(said, 3) == 1
  local d = read_domain(c, domain_of(h))
  local rings = c.prefix .. 'rings'
  local ring = get(c, rings, d.name) or ''
  local from = position_in(ring, sketch, 2)
  local new = not from
  if new then
    if #ring >= RING then ring = sub(ring, 3) end
  else
    ring = sub(ring, 1, from - 1) .. sub(ring, from + 2)
  end
  put(c, rings, d.name, ring .. sketch)
  local text = get(c, c.prefix .. 'standings', h.name) or ''
  local standing, from_, template = standing_of(text, sub(entry, 8, 11))
  local listed = is_listed(entry)
  local costs = not listed and (leads_on or standing % STARVED < TEMPLATE_PROVEN)
  local before = d.standing
  d.standing = after(before, DOMAIN_MOST, new, costs)
  if d.standing ~= before then write_domain(c, d) end
  if (d.standing >= STARVED) ~= (before >= STARVED) then bump(c, 'starved', before >= STARVED and -1 or 1) end
  h.standing = after(h.standing, HOST_MOST, new, costs)
  local now = after(standing, TEMPLATE_MOST, new, leads_on and not listed)
  if now >= STARVED then set(h, TRAPS) end
  if from_ then
    if now == standing then return end
    text = sub(text, 1, from_ + 3) .. char(now) .. sub(text, from_ + 5)
  else
    text = text .. template .. char(now)
  end
  put(c, c.prefix .. 'standings', h.name, text)
end

-- Whether traps are looked for on a host, as `HostSwitch` of frontier/policy.py decides.
local function watched(c, name)
  if not c.watched then
    c.watched = {}
    for host, on in string.gmatch(c.traps, ' (%S+)=([01])') do c.watched[host] = on end
  end
  while name do
    local on = c.watched[name]
    if on then return on == '1' end
    name = string.match(name, '%.(.*)$')
  end
  return sub(c.traps, 1, 1) == '1'
end

-- What of a host is starved (0: nothing, 1: templates, 2: the host, 3: its domain), and how many templates are.
function starvation(c, h)
  if not watched(c, h.name) then return 0, 0 end
  local count = 0
  local text = has(h.flags, TRAPS) and get(c, c.prefix .. 'standings', h.name) or ''
  for at = 5, #text, 5 do
    if byte(text, at) >= STARVED then count = count + 1 end
  end
  if h.standing >= STARVED then return 2, count end
  if h.standing < HOST_PROVEN and c.starved > 0 and read_domain(c, domain_of(h)).standing >= STARVED then return 3, count end
  return count > 0 and 1 or 0, count
end

-- Whether an entry is starved: nothing new is said where it leads.
function trapped(c, h, entry)
  if c.starved == 0 and h.standing < STARVED and not has(h.flags, TRAPS) then return false end
  if number_in(entry) % 64 == 0 then return false end -- listed, or the 1 URL in 64 that may prove the level honest
  if not watched(c, h.name) then return false end
  local template = standing_of(get(c, c.prefix .. 'standings', h.name) or '', sub(entry, 8, 11))
  if template >= STARVED then return true end
  if template >= TEMPLATE_PROVEN then return false end
  if h.standing >= STARVED then return true end
  return h.standing < HOST_PROVEN and c.starved > 0 and read_domain(c, domain_of(h)).standing >= STARVED
end

end
