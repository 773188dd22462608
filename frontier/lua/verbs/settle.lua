local MAX_ATTEMPTS = 3 -- lease.py: ATTEMPTS
local LONGEST_ANSWER = 600000
local UNASKED = -2

-- args: lease_ms, token, ...
verb('renew', function(keys, args)
  local c = open(keys)
  for i = 2, #args do call('ZADD', c.deadlines, 'XX', c.now + args[1], args[i]) end
end, FREES)

-- args: for each exchange: token, ms that the host took to answer (-1: it did not answer; -2: it was not asked).
-- Returns the nonce, and when there may be something to lease (see `soonest`).
verb('release', function(keys, args)
  local c = open(keys)
  local tokens = every(args, 1, 2)
  read_leases(c, tokens)
  local denied = refused(c, tokens)
  if denied then return denied end
  for i = 1, #args, 2 do
    local l = read_lease(c, args[i])
    if l and not l.released then
      l.released = true
      put(c, c.leases, args[i], pack_lease(l))
      local h = read_host(c, l.host)
      local took = tonumber(args[i + 1])
      if took >= 0 then
        h.smooth = h.smooth == 0 and min(took, LONGEST_ANSWER) or floor((7 * h.smooth + min(took, LONGEST_ANSWER)) / 8)
      end
      if took == UNASKED then bump(c, 'requests', -1) end
      end_exchange(h, took == UNASKED and 0 or c.soon)
      settle_host(c, h)
    end
  end
  close(c)
  return {nonce, soonest(c)}
end, FREES)

-- args: the nonce of the library when it was sent the discoveries of the pages, and when it granted their leases; 1 if
-- the worker died and another settles for it; then for each lease: token, outcome, reason, retry_after_ms (negative:
-- doubling), hold_ms, fault, 0 if the host was not asked, the sketch ('': unknown; see hear), entry of the next visit
-- ('': none), and in how many ms that is due. Returns nonce and time, and for each lease 1 if it was accepted; none of
-- these if the server has restarted since, and may have forgotten.
verb('settle', function(keys, args)
  local c = open(keys)
  local accepted = {nonce, c.now}
  if args[1] ~= nonce then return accepted end
  local tokens = every(args, 3, 10)
  read_leases(c, tokens)
  local denied = refused(c, tokens, args[2])
  if denied then return denied end
  for i = 3, #args, 10 do
    local token, outcome, reason, wait = args[i], args[i + 1], args[i + 2], tonumber(args[i + 3])
    local l = read_lease(c, token)
    if not l or l.kind ~= PAGE then
      accepted[#accepted + 1] = 0
    elseif l.failure then -- no request was made: the settlement says nothing of the host
      local cut = find(l.failure, ':', 1, true)
      conclude(c, sub(l.failure, 1, cut - 1), sub(l.failure, cut + 1), 1)
      settle_host(c, finish(c, token, l, c.soon))
      accepted[#accepted + 1] = 1
    else
      local asked = args[i + 6] == '1'
      if not asked then spare(c, l) end
      local h = finish(c, token, l, asked and c.soon or 0)
      local fault, rest = args[i + 5], tonumber(args[i + 4])
      if outcome == 'retry' then
        local before = byte(l.subject, 5)
        local attempt = before % NOTIFY
        if wait < 0 then wait = scaled(c, RETRY_MS * 2 ^ attempt) end
        attempt = attempt + 1
        if attempt >= MAX_ATTEMPTS then
          conclude(c, 'failed', reason, 1)
        else
          local entry = sub(l.subject, 1, 4) .. char(before + 1) .. sub(l.subject, 6)
          call('ZADD', c.later, c.now + wait, l.host .. '\0' .. entry)
          bump(c, 'later', 1)
        end
      else
        conclude(c, outcome, reason, 1)
        if args[i + 8] ~= '' then
          call('ZADD', c.prefix .. 'visits', c.wall + args[i + 9], l.host .. '\0' .. args[i + 8])
          bump(c, 'scheduled', 1)
        end
      end
      if ANSWERS[outcome] or fault ~= '' then
        judge_page(c, h, origin_of(l.host, l.subject), fault, rest, l.granted, reason)
      else
        hold(c, h, rest, rest_code(reason, fault))
      end
      if args[i + 7] ~= '' then hear(c, h, l.subject, args[i + 7]) end
      settle_host(c, h)
      accepted[#accepted + 1] = 1
    end
  end
  close(c)
  return accepted
end, FREES)

-- args: token, wait_ms, 1 if a request may have reached the host, 1 if the worker died. No exchange counts, and the
-- host waits that long. Returns the nonce, and 1 if the lease was held.
verb('postpone', function(keys, args)
  local c = open(keys)
  local l, denied = read_lease(c, args[1]), refused(c, {args[1]}, args[4])
  if denied then return denied end
  if not l or l.released then return {nonce, 0} end
  local asked = args[3] == '1'
  if not asked then spare(c, l) end
  local h = finish(c, args[1], l, asked and c.soon or 0)
  hold(c, h, tonumber(args[2]), REST_CODES.address)
  if l.kind == PAGE then
    if has(h.flags, DEAD) and not notifies(l.subject) then
      settle_here(c, 'failed', death(h), l.host, l.subject)
    else
      put_back(c, h, l.subject)
    end
  end
  settle_host(c, h)
  close(c)
  return {nonce, 1}
end, FREES)

-- args: worker; 1 if it died, 2 if nobody knows of what. Returns how many leases went back.
verb('reclaim', function(keys, args)
  local c = open(keys)
  if args[2] == '0' and is_taken(c, args[1]) then return refusal(args[1]) end
  call('SREM', c.prefix .. 'askers', args[1])
  local all, held = call('HGETALL', c.leases), {}
  for i = 1, #all, 2 do
    local l = parse_lease(all[i + 1])
    if l.worker == args[1] then held[#held + 1] = {tonumber(all[i]), all[i], l} end
  end
  table.sort(held, function(a, b) return a[1] > b[1] end) -- the last first: each goes before those that are there
  for _, lease_ in ipairs(held) do
    local died = args[2] ~= '0'
    if not died then spare(c, lease_[3]) end
    abandon(c, lease_[2], lease_[3], c.soon, args[2] == '2', died)
  end
  forget_bodies(c, SWEEP, c.wall + LARGE_KEPT_MS) -- large rules: if this was the last worker, nobody reviews them again
  close(c)
  return #held
end, FREES)

-- args: worker
verb('leases', function(keys, args)
  local c = look(keys)
  local all, found = call('HGETALL', c.leases), {}
  for i = 1, #all, 2 do
    local l = parse_lease(all[i + 1])
    if l.worker == args[1] then
      found[#found + 1] = tell(c, all[i], l, tonumber(call('ZSCORE', c.deadlines, all[i])), 0)
    end
  end
  return found
end, READS)

-- Workers that hold a lease.
verb('holders', function(keys)
  local workers, found = {}, {}
  for _, text in ipairs(call('HVALS', keys[1])) do workers[parse_lease(text).worker] = true end
  for worker in pairs(workers) do found[#found + 1] = worker end
  return found
end, READS)
