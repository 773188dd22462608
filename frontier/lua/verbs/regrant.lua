-- A client that holds a lease, or has settled it meanwhile, has it granted again on a server that has forgotten it.

local REACH = 10000 -- entries of a queue that are searched: recent grants came from its beginning

-- The part that all entries of one page have in common; the link and the attempts may differ.
local function page_in(entry)
  local way = byte(entry, 12) > 90 and 13 or 15 -- Z is 90: a port follows
  return sub(entry, 12, way - 1) .. sub(entry, way + unpack_('>I2', entry, way))
end

local function attempt_in(entry) return byte(entry, 5) % NOTIFY end

-- Take an entry out of the place where it waits; false if it does not wait, or lies in storage.
local function take_out(c, h, entry)
  local member, page = h.name .. '\0' .. entry, page_in(entry)
  if call('ZREM', c.later, member) == 1 then
    bump(c, 'later', -1)
    return true
  end
  local due = call('ZSCORE', c.prefix .. 'visits', member)
  if due and tonumber(due) <= c.wall then -- otherwise it is the next visit
    call('ZREM', c.prefix .. 'visits', member)
    bump(c, 'scheduled', -1)
    bump(c, 'added', 1)
    return true
  end
  for i, other in ipairs(call('LRANGE', queue(c, h), 0, min(h.head + h.back, REACH) - 1)) do
    if page_in(other) == page and attempt_in(other) <= attempt_in(entry) then
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

-- The key of which only one lease exists at a time: a page, or the robots.txt of any origin of a host.
local function held_by(l) return l.kind == PAGE and l.host .. '\0' .. page_in(l.subject) or l.host end

-- End the lease of the same key that was granted before `token`: it was over by then, and that is forgotten. Return its
-- host, and whether there is a newer lease instead.
local function take_over(c, l, token)
  if not c.holders then
    c.holders = {}
    local all = call('HGETALL', c.leases)
    for i = 1, #all, 2 do c.holders[held_by(parse_lease(all[i + 1]))] = all[i] end
  end
  local what = held_by(l)
  local other = c.holders[what]
  if other and tonumber(other) >= tonumber(token) then return nil, true end
  c.holders[what] = token
  local before = other and read_lease(c, other)
  return before and finish(c, other, before, c.soon)
end

-- Lease a page that was unknown, or waits, or has an older lease; nil if another has it, or it is settled.
local function lease_again(c, l, domain, number, hash, token)
  local name, entry = l.host, l.subject
  local h, d = read_host(c, name), read_domain(c, domain)
  local plain, whole = known_before(c, name, number, hash)
  if whole then
    local taken_over = take_over(c, l, token)
    return h and take_out(c, h, entry) and h or taken_over
  end
  if not h then
    h = new_host(name, d.name, d.rank)
    count_host(c, d)
  end
  let_in(c, h, d, hash, plain)
  bump(c, 'added', 1)
  write_domain(c, d)
  return h
end

-- args: worker, then for each lease: host, its domain, 1, hash of the page, token, kind, entry (or origin), failure
-- ('': none), 1 if its exchange is over, lease_ms. Returns the nonce.
verb('regrant', function(keys, args)
  local c = open(keys)
  if is_taken(c, args[1]) then return refusal(args[1]) end
  local numbers = load_all(c, args, 2, 7)
  for i = 2, #args, 10 do
    local name, token, subject = args[i], args[i + 4], args[i + 6]
    local l = {
      kind = args[i + 5] == KINDS[PAGE] and PAGE or ROBOTS_TXT, released = args[i + 8] == '1', subject = subject, host = name,
      worker = args[1], granted = c.now, failure = args[i + 7] ~= '' and args[i + 7] or nil,
    }
    local h
    if not read_lease(c, token) then
      if l.kind == PAGE then
        h = lease_again(c, l, args[i + 1], numbers[name], args[i + 3], token)
        if h then
          numbers[name] = h.added
          bump(c, 'leased', 1)
        end
      else
        local _, newer = take_over(c, l, token)
        h = read_host(c, name)
        if h and (newer or has(h.flags, ASKING)) then h = nil end
        if h then set(h, ASKING) end
      end
    end
    if h then
      c.read[token] = l
      put(c, c.leases, token, pack_lease(l))
      score(c, c.deadlines, token, c.now + args[i + 9])
      if not l.failure then
        bump(c, 'requests', 1)
        if l.released then h.last = max(h.last, c.soon) else h.open = h.open + 1 end
      end
      settle_host(c, h)
    end
  end
  close(c)
  return nonce
end, FREES)
