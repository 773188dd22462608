-- args: URLs of a host at most (-1: any number), of a domain, hosts of a domain, where traps are looked for; then for each host: its name, its
-- domain, a number, and so many times a hash and an entry. Returns how many were unknown, how many known, the library's
-- nonce, and pairs of reason and number.
verb('add', function(keys, args)
  local c = open(keys)
  local of_host, of_domain, of_hosts = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  c.traps = args[4]
  local numbers = load_all(c, args, 5)
  local added, was_known, reasons = 0, 0, {}
  local i = 5
  while i <= #args do
    local name, n = args[i], tonumber(args[i + 2])
    local h, d, fresh, changed
    for j = i + 3, i + 1 + 2 * n, 2 do
      local hash, entry = args[j], args[j + 1]
      if known(c, name, numbers[name], hash) then
        was_known = was_known + 1
      else
        if not h then
          h, d = read_host(c, name), read_domain(c, args[i + 1])
          fresh = not h
          h = h or new_host(name, d.name, d.rank)
        end
        local reason = unwanted(c, h, entry)
        if fresh and d.hosts >= of_hosts then
          reason = 'domain_hosts'
        elseif has(h.flags, DEAD) then
          reason = death(h)
        elseif of_host >= 0 and h.added >= of_host then
          reason = 'host_budget'
        elseif of_domain >= 0 and d.urls >= of_domain then
          reason = 'domain_budget'
        end
        if reason then
          reasons[reason] = (reasons[reason] or 0) + 1
          tally(c, 'discarded', reason, 1)
        else
          remember(c, name, h.added, hash)
          h.added, d.urls, added, changed = h.added + 1, d.urls + 1, added + 1, true
          numbers[name] = h.added
          if fresh then
            fresh = false
            d.hosts = d.hosts + 1
            bump(c, 'hosts', 1)
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
  local told = {added, was_known, nonce}
  for reason, n in pairs(reasons) do
    told[#told + 1] = reason
    told[#told + 1] = n
  end
  return told
end)
