local MAX_EXPIRIES = 5 -- workers that a page or a robots.txt may kill before it is taken for the killer
local UNREADABLE_MS = 3600000 -- for a robots.txt that kills its readers (thresher.crawler.robots.robots_txt)
local SWEEP = 1000 -- expired leases, and due pages, that one call takes up

local GIVEN_UP, GIVEN_UP_CODES = {'failed:lease_expired', 'refused:trap'}, {}
for code = 0, KINDS_END do GIVEN_UP[#GIVEN_UP + 1] = 'failed:' .. death_in_words(code) end
for code = 1, #GIVEN_UP do GIVEN_UP_CODES[GIVEN_UP[code]] = code end

local LEASE = '>BBBBI6' -- kind; 0, 1 if its exchange is over, from 2 on why it is given up; lengths; granted

local function pack_lease(l)
  local over = l.failure and GIVEN_UP_CODES[l.failure] + 1 or l.released and 1 or 0
  return pack(LEASE, l.kind, over, #l.worker, #l.host, l.granted) .. l.worker .. l.host .. l.subject
end

local PAGE, ROBOTS_TXT = 1, 2
local KINDS = {'page', 'robots'}

local function parse_lease(text)
  local kind, over, w, h, granted, next = unpack_(LEASE, text)
  return {
    kind = kind, released = over > 0, failure = GIVEN_UP[over - 1], granted = granted, worker = sub(text, next, next + w - 1),
    host = sub(text, next + w, next + w + h - 1), subject = sub(text, next + w + h),
  }
end

local function read_lease(c, token)
  local l = c.read[token]
  if l == nil then
    local text = call('HGET', c.leases, token)
    l = text and parse_lease(text)
    c.read[token] = l
  end
  return l or nil
end

-- Read the leases of some tokens, and their hosts, at once.
local function read_leases(c, tokens)
  local names = {}
  for i, text in ipairs(get_many(c.leases, tokens)) do
    local l = text and parse_lease(text)
    c.read[tokens[i]] = l
    if l then names[#names + 1] = l.host end
  end
  read_hosts(c, names)
end

local function end_exchange(h, when)
  h.open = h.open - 1
  h.last = max(h.last, when)
end

-- Take back the count of an exchange that never took place.
local function spare(c, l)
  if not l.released then bump(c, 'requests', -1) end
end

-- End a lease whose exchange was over at `when` at the latest; return its host, which the caller changes, places and
-- writes.
local function finish(c, token, l, when)
  put(c, c.leases, token, false)
  score(c, c.deadlines, token, false)
  c.read[token] = false
  local h = read_host(c, l.host)
  if not l.released then end_exchange(h, when) end
  if l.kind == PAGE then bump(c, 'leased', -1) else unset(h, ASKING) end
  return h
end

local function settle_host(c, h)
  place(c, h)
  write_host(c, h)
end

-- End a lease that nobody settled. `struck`: it may have killed its worker. `died`: its worker died, and the entry says
-- so from then on.
local function abandon(c, token, l, when, struck, died)
  local h = finish(c, token, l, when)
  local strike = struck and 1 or 0
  if l.kind == PAGE then
    local before = byte(l.subject, 6)
    local expiries = before % ORPHAN + strike
    local most = notifies(l.subject) and 2 * MAX_EXPIRIES or MAX_EXPIRIES -- a killer may kill a worker that hears of it
    if expiries >= most then
      settle_here(c, 'failed', 'lease_expired', l.host, l.subject)
    elseif has(h.flags, DEAD) and not notifies(l.subject) then
      settle_here(c, 'failed', death(h), l.host, l.subject)
    else
      put_back(c, h, sub(l.subject, 1, 5) .. char((died or before >= ORPHAN) and expiries + ORPHAN or expiries) .. sub(l.subject, 7))
    end
  else
    local r = read_robots(c, l.subject)
    local expiries = r.expiries % ORPHAN + strike
    r.expiries = (died or r.expiries >= ORPHAN) and expiries + ORPHAN or expiries
    write_robots(c, l.subject, r)
    if expiries >= MAX_EXPIRIES then
      store_robots(c, l.subject, 'disallow', '\0lease_expired', UNREADABLE_MS) -- no deflated body begins with NUL
    end
  end
  settle_host(c, h)
end

local function expire(c)
  local due = call('ZRANGE', c.deadlines, '-inf', c.now, 'BYSCORE', 'LIMIT', 0, SWEEP, 'WITHSCORES')
  local tokens = {}
  for i = 1, #due, 2 do tokens[#tokens + 1] = due[i] end
  read_leases(c, tokens)
  for i = #due - 1, 1, -2 do -- the last first: each goes before those that are there
    abandon(c, due[i], read_lease(c, due[i]), tonumber(due[i + 1]), true)
  end
end

-- Let pages wait for their turn whose time has come.
local function wake(c, key, now, counter)
  for _, member in ipairs(call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, SWEEP)) do
    call('ZREM', key, member)
    bump(c, counter, -1)
    if counter == 'scheduled' then bump(c, 'added', 1) end
    local cut = find(member, '\0', 1, true)
    local h = read_host(c, sub(member, 1, cut - 1))
    if has(h.flags, DEAD) and not notifies(sub(member, cut + 1)) then
      settle_here(c, 'failed', death(h), h.name, sub(member, cut + 1))
    else
      enqueue(c, h, sub(member, cut + 1))
      settle_host(c, h)
    end
  end
end

-- The fields of a lease for its worker.
local function tell(c, token, l, deadline, slot)
  local r = read_robots(c, l.kind == PAGE and origin_of(l.host, l.subject) or l.subject)
  return {token, KINDS[l.kind], deadline, r.version, r.attempt, slot, l.host, l.subject, l.failure or '', r.expiries}
end

-- In how many ms a host or a page may have its turn or a lease may end: 0 if one does now, -1 if nothing has a time.
local function soonest(c)
  local found
  local function look_at(key, now)
    local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if first then found = min(found or FOREVER, max(first - now, 0)) end
  end
  for rank = 0, RANKS - 1 do look_at(c.ready .. rank, c.now) end
  look_at(c.later, c.now)
  look_at(c.deadlines, c.now)
  look_at(c.prefix .. 'visits', c.wall)
  return found and max(found, held_back(c)) or -1
end
