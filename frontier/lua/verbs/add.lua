-- The arguments of `add`, `restore` and `knows` for a host: its name, its domain, a number, and as many items of some
-- fields, the first of which is a hash. A hash is of the URL's text; or it is that hash, and behind it the hash of the
-- text with its generation.

local PLAIN = 7 -- bytes of a hash

-- Whether a URL, and the same URL in its generation, were let in before.
local function known_before(c, name, n, hash)
  local plain = known(c, name, n, sub(hash, 1, PLAIN))
  if #hash == PLAIN then return plain, plain end
  return plain, known(c, name, n, sub(hash, PLAIN + 1))
end

-- Let URLs in.
local function let_in(c, h, d, hash, plain)
  if not plain then
    remember(c, h.name, h.added, sub(hash, 1, PLAIN))
    h.added, d.urls = h.added + 1, d.urls + 1
  end
  if #hash > PLAIN then
    remember(c, h.name, h.added, sub(hash, PLAIN + 1))
    h.added, h.again = h.added + 1, h.again + 1
  end
end

local function count_host(c, d)
  d.hosts = d.hosts + 1
  bump(c, 'hosts', 1)
end

-- Ask once more a host, and the origin of an entry, that were given up.
local function ask_again(c, h, entry)
  if has(h.flags, DEAD) then
    revive(c, h)
    h.held = 0
  end
  local origin = origin_of(h.name, entry)
  local r = read_robots(c, origin)
  if given_up(r) then
    r.expires, r.attempt, r.rest = 0, 0, 0
    write_robots(c, origin, r)
  end
end

-- args: 1 if hosts that were given up are asked once more; then for each host: its name, its domain, a number, and as
-- many pairs of hash and entry. Returns how many were unknown, how many known, nonce and time (see `moment`), and pairs
-- of reason and number.
verb('add', function(keys, args)
  local c = open(keys)
  local f = call('HMGET', c.count, 'host_budget', 'domain_budget', 'hosts_budget')
  local of_host, of_domain, of_hosts = tonumber(f[1] or -1), tonumber(f[2] or -1), tonumber(f[3] or 4096)
  local revives = args[1] == '1'
  local numbers = load_all(c, args, 2, 2)
  local added, was_known, reasons = 0, 0, {}
  local i = 2
  while i <= #args do
    local name, n = args[i], tonumber(args[i + 2])
    local h, d, fresh, changed
    for j = i + 3, i + 2 + 2 * n, 2 do
      local hash, entry = args[j], args[j + 1]
      local plain, whole = known_before(c, name, numbers[name], hash)
      if whole then
        was_known = was_known + 1
      else
        if not h then
          h, d = read_host(c, name), read_domain(c, args[i + 1])
          fresh = not h
          h = h or new_host(name, d.name, d.rank)
        end
        local hears = notifies(entry)
        if revives and not fresh then
          ask_again(c, h, entry)
          changed = true
        end
        local reason = unwanted(c, h, entry)
        if hears and reason == 'trap' then reason = nil end -- it is given up when its turn comes
        if fresh and d.hosts >= of_hosts then
          reason = 'domain_hosts'
        elseif has(h.flags, DEAD) and not hears then
          reason = death(h)
        elseif plain then -- a URL that was let in before counts once
        elseif of_host >= 0 and h.added - h.again >= of_host then
          reason = 'host_budget'
        elseif of_domain >= 0 and d.urls >= of_domain then
          reason = 'domain_budget'
        end
        if reason then
          reasons[reason] = (reasons[reason] or 0) + 1
          tally(c, 'discarded', reason, 1)
        else
          let_in(c, h, d, hash, plain)
          added, changed = added + 1, true
          numbers[name] = h.added
          if fresh then
            fresh = false
            count_host(c, d)
          end
          enqueue(c, h, entry)
        end
      end
    end
    if changed then
      write_domain(c, d)
      settle_host(c, h)
    end
    i = i + 3 + 2 * n
  end
  bump(c, 'added', added)
  close(c)
  local told = {added, was_known, nonce, c.now}
  for reason, n in pairs(reasons) do
    told[#told + 1] = reason
    told[#told + 1] = n
  end
  return told
end)

-- args: for each host: its name, its domain, a number, and as many times a hash, outcome, reason, the entry of the next
-- visit ('': none) and in how many ms that is due. These pages get their former outcomes. Returns nonce and time, and
-- for each page 1 if it was unknown.
verb('restore', function(keys, args)
  local c = open(keys)
  local numbers = load_all(c, args, 1, 5)
  local found, added = {nonce, c.now}, 0
  local i = 1
  while i <= #args do
    local name, n = args[i], tonumber(args[i + 2])
    local d = read_domain(c, args[i + 1])
    local h = read_host(c, name)
    if not h then
      h = new_host(name, d.name, d.rank)
      count_host(c, d)
    end
    for j = i + 3, i + 2 + 5 * n, 5 do
      local hash = args[j]
      local plain, whole = known_before(c, name, numbers[name], hash)
      if not whole then
        let_in(c, h, d, hash, plain)
        added = added + 1
        numbers[name] = h.added
        conclude(c, args[j + 1], args[j + 2], 1)
        if args[j + 3] ~= '' then
          call('ZADD', c.prefix .. 'visits', c.wall + args[j + 4], name .. '\0' .. args[j + 3])
          bump(c, 'scheduled', 1)
        end
      end
      found[#found + 1] = whole and 0 or 1
    end
    write_domain(c, d)
    write_host(c, h)
    i = i + 3 + 5 * n
  end
  bump(c, 'added', added)
  close(c)
  return found
end)

-- args: for each host: its name, its domain, a number, and as many hashes. Returns for each 1 if it is known.
verb('knows', function(keys, args)
  local c = look(keys)
  local numbers = load_all(c, args, 1, 1)
  local found = {}
  local i = 1
  while i <= #args do
    for j = i + 3, i + 2 + args[i + 2] do
      found[#found + 1] = known(c, args[i], numbers[args[i]], args[j]) and 1 or 0
    end
    i = i + 3 + args[i + 2]
  end
  return found
end, READS)
