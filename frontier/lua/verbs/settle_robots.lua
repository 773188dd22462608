-- args: token, rule, body, ttl_ms, delay_ms, fault ('': an answer), hold_ms, reason: the kind of the fault, 1 if the
-- worker died. Returns nonce and time.
verb('settle_robots', function(keys, args)
  local c = open(keys)
  local l, denied = read_lease(c, args[1]), refused(c, {args[1]}, args[9])
  if denied then return denied end
  if not l or l.kind ~= ROBOTS_TXT then return moment(c) end
  local delay = min(tonumber(args[5]), LONGEST_DELAY)
  store_robots(c, l.subject, args[2], args[3], tonumber(args[4]))
  local h = finish(c, args[1], l, c.soon)
  local rest = tonumber(args[7])
  if args[2] ~= 'disallow' and not (has(h.flags, SEVERAL) and OWN[args[6]]) then
    judge(c, h, args[6], args[6] == 'busy' and rest or 0, l.granted, args[8])
  end
  hold(c, h, rest, rest_code(args[8], args[6]))
  if delay > h.delay or l.subject == h.slowest then h.delay, h.slowest = delay, l.subject end
  settle_host(c, h)
  close(c)
  return moment(c)
end, FREES)

-- args: token, after_ms (negative: doubling), fault ('': the answer was of no use), reason: its kind, 1 if the worker
-- died. Returns nonce and time.
verb('retry_robots', function(keys, args)
  local c = open(keys)
  local l, denied = read_lease(c, args[1]), refused(c, {args[1]}, args[5])
  if denied then return denied end
  if not l or l.kind ~= ROBOTS_TXT then return moment(c) end
  local r = read_robots(c, l.subject)
  local h = finish(c, args[1], l, c.soon)
  local fault, told = args[3], tonumber(args[2])
  local wait = told >= 0 and told or scaled(c, min(RETRY_MS * 2 ^ r.attempt, LONGEST_HOLD_MS))
  r.attempt = r.attempt + 1
  if has(h.flags, SEVERAL) and fault ~= '' and fault ~= 'dns' then
    rest_origin(c, l.subject, r, wait, fault, args[4])
  else
    write_robots(c, l.subject, r)
    if fault ~= '' then judge(c, h, fault, fault == 'busy' and max(told, 0) or 0, l.granted, args[4]) end
    hold(c, h, wait, fault == '' and REST_CODES.robots_unreachable or rest_code(args[4], fault))
  end
  settle_host(c, h)
  close(c)
  return moment(c)
end, FREES)

-- args: n. Returns some origins that have answered and are not given up: first those whose hosts do not rest, then
-- those whose hosts do.
verb('responsive', function(keys, args)
  local c, found, resting = look(keys), {}, {}
  local picked = call('HRANDFIELD', c.robots, args[1], 'WITHVALUES')
  for i = 1, #picked, 2 do
    local r, h = parse_robots(picked[i + 1]), host_of(c, picked[i])
    if r.version > 0 and not given_up(r) and h and not has(h.flags, DEAD) then
      local list = h.trips > 0 and resting or found
      list[#list + 1] = picked[i]
    end
  end
  return {found, resting}
end, READS)

-- args: origin. Returns version, rule, body.
verb('robots', function(keys, args)
  local prefix = sub(keys[1], 1, -7)
  local r = read_robots({robots = keys[1]}, args[1])
  return {r.version, RULE_NAMES[r.rule], call('HGET', prefix .. 'bodies', args[1]) or ''}
end, READS)
