-- Whether a host, or one of its entries, is barred.
local function barred(c, h, entry)
  if not c.bars then c.bars = call('HKEYS', c.prefix .. 'bars') end
  if #c.bars == 0 then return false end
  local start = SCHEMES[sub(entry, 12, 12)] and 13 or 15
  local url = origin_of(h.name, entry) .. sub(entry, start + unpack_('>I2', entry, start))
  for _, bar in ipairs(c.bars) do
    local kind, anchor = string.match(bar, '^(%a+):?(.*)$')
    if kind == 'any' or (kind == 'host' and anchor == h.name) or (kind == 'domain' and anchor == domain_of(h))
      or (kind == 'prefix' and sub(url, 1, #anchor) == anchor) then return true end
  end
  return false
end

-- Return why an entry is not wanted any more; nil if it is wanted.
local function unwanted(c, h, entry)
  if trapped(c, h, entry) then return 'trap' end
  if barred(c, h, entry) then return 'dropped' end
  return nil
end
