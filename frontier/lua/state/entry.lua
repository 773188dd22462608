-- level (4 bytes), attempt (and NOTIFY), expiries, a byte of the URL's hash (0: it was listed), template (4 bytes),
-- origin (s https, p http; upper case: the port follows in 2 bytes), distance of the path from here, fields for the
-- client only, the path.

local NOTIFY = 128 -- added to an entry's attempts: a worker is to hear of it if it is given up

local function notifies(entry) return byte(entry, 5) >= NOTIFY end

local function level_of(entry) return (unpack_('>I4', entry)) end

local function number_in(entry) return byte(entry, 7) end

local function is_listed(entry) return number_in(entry) == 0 end

local SCHEMES = {s = 'https://', p = 'http://'}

local function same_origin(entry, other)
  local code = byte(entry, 12)
  return code == byte(other, 12) and (code > 90 or sub(entry, 13, 14) == sub(other, 13, 14)) -- Z is 90
end

local function origin_of(host, entry)
  local code = sub(entry, 12, 12)
  local scheme = SCHEMES[code]
  if scheme then return scheme .. host end
  return SCHEMES[string.lower(code)] .. host .. ':' .. unpack_('>I2', entry, 13)
end
