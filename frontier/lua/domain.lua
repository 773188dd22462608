local DOMAIN = '>I4I4BB'
local DOMAIN_FIRST, HOST_FIRST, TEMPLATE_FIRST = 96, 80, 64 -- standings; see Novelty

local function read_domain(c, name)
  local text = call('HGET', c.prefix .. 'domains', name)
  local d = {name = name, urls = 0, hosts = 0, rank = 1, standing = DOMAIN_FIRST}
  if text then d.urls, d.hosts, d.rank, d.standing = unpack_(DOMAIN, text) end
  return d
end

local function write_domain(c, d)
  call('HSET', c.prefix .. 'domains', d.name, pack(DOMAIN, d.urls, d.hosts, d.rank, d.standing))
end
