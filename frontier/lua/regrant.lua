-- A server that came back without a lease that it had granted is told of it again, by who holds it or has settled it meanwhile.

local REACH = 10000 -- entries of a queue that are looked through: what was granted lately was at its beginning

-- What two entries of one page have in common that was tried as often; by which link it was found may differ.
local function page_in(entry)
  local way = byte(entry, 12) > 90 and 13 or 15 -- Z is 90: a port follows
  return sub(entry, 5, 5) .. sub(entry, 12, way - 1) .. sub(entry, way + unpack_('>I2', entry, way))
end

-- Takes an entry out of where it waits; false where it does not, or lies in storage.
local function take_out(c, h, entry)
  local member, page = h.name .. '\0' .. entry, page_in(entry)
  if call('ZREM', c.later, member) == 1 then
    bump(c, 'later', -1)
    return true
  elseif call('ZREM', c.prefix .. 'visits', member) == 1 then
    bump(c, 'scheduled', -1)
    bump(c, 'added', 1)
    return true
  end
  for i, other in ipairs(call('LRANGE', queue(c, h), 0, min(h.head + h.back, REACH) - 1)) do
    if page_in(other) == page then
      call('LREM', queue(c, h), 1, other)
      if i <= h.head then
        h.head = h.head - 1
      else
        h.back, h.turn = h.back - 1, (h.turn + 1) % TURNS
        watch_back(c, h)
      end
      h.waiting = h.waiting - 1
      bump(c, 'waiting', -1)
      promote(c, h)
      watch_head(c, h)
      return true
    end
  end
  return false
end

-- Makes a page leased that was unknown, or waits; nil where it is another's, or settled.
local function lease_again(c, name, domain, number, hash, entry)
  local h, d = read_host(c, name), read_domain(c, domain)
  local plain, whole = known_before(c, name, number, hash)
  if whole then return h and take_out(c, h, entry) and h end
  if not h then
    h = new_host(name, d.name, d.rank)
    count_host(c, d)
  end
  let_in(c, h, d, hash, plain)
  bump(c, 'added', 1)
  write_domain(c, d)
  return h
end

-- args: worker, lease_ms, then for each lease: host, its domain, 1, hash of the page, token, kind, entry (or origin), failure ('': none),
-- 1 where its exchange is over.
verb('regrant', function(keys, args)
  local c = open(keys)
  local numbers = load_all(c, args, 3, 6)
  for i = 3, #args, 9 do
    local name, token, subject = args[i], args[i + 4], args[i + 6]
    local l = {
      kind = args[i + 5] == KINDS[PAGE] and PAGE or ROBOTS_TXT, released = args[i + 8] == '1', subject = subject, host = name,
      worker = args[1], granted = c.now, failure = args[i + 7] ~= '' and args[i + 7] or nil,
    }
    local h
    if not read_lease(c, token) then
      if l.kind == PAGE then
        h = lease_again(c, name, args[i + 1], numbers[name], args[i + 3], subject)
        if h then
          numbers[name] = h.added
          bump(c, 'leased', 1)
        end
      else
        h = read_host(c, name)
        if h and has(h.flags, ASKING) then h = nil end
        if h then set(h, ASKING) end
      end
    end
    if h then
      c.read[token] = l
      put(c, c.leases, token, pack_lease(l))
      score(c, c.deadlines, token, c.now + args[2])
      if not l.failure then
        bump(c, 'requests', 1)
        if not l.released then h.open = h.open + 1 end
      end
      settle_host(c, h)
    end
  end
  close(c)
  return nonce
end, FREES)
