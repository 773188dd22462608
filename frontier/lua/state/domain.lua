local DOMAIN = '>I4I4BB'
local DOMAIN_FIRST, HOST_FIRST, TEMPLATE_FIRST = 96, 80, 64 -- standings; see `novelty.lua`

-- The registered domain of a name; one table throughout the function.
local function read_domain(c, name)
  local d = c.owners[name]
  if not d then
    local text = call('HGET', c.domains, name)
    d = {name = name, urls = 0, hosts = 0, rank = 1, standing = DOMAIN_FIRST}
    if text then d.urls, d.hosts, d.rank, d.standing = unpack_(DOMAIN, text) end
    c.owners[name] = d
  end
  return d
end

local function write_domain(c, d) put(c, c.domains, d.name, d) end

local function pack_domain(d) return pack(DOMAIN, d.urls, d.hosts, d.rank, d.standing) end
