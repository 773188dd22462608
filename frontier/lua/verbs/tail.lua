local SEGMENT = 32768 -- entries, a few more: some MB, and some 30 ms in which the server does nothing else

-- args: n, entries. Returns the nonce of the library, and for some hosts the turn and the beginning of the back.
verb('overflow', function(keys, args)
  local c = open(keys)
  local found, room = {nonce}, SEGMENT
  for _, name in ipairs(call('SRANDMEMBER', c.prefix .. 'spill', args[1])) do
    if room <= 0 then break end
    local h = read_host(c, name)
    local entries = call('LRANGE', queue(c, h), h.head, h.head + min(h.back, args[2]) - 1)
    room = room - #entries
    found[#found + 1] = {name, h.turn, entries}
  end
  return found
end, FREES)

-- args: name of the segment, the nonce from `overflow`, then for each host: name, turn, entries, number of runs, run,
-- ... (their segment is 0). Returns the number of hosts whose entries lie in storage now.
verb('spill', function(keys, args)
  local c = open(keys)
  local id, live, hosts = call('HINCRBY', c.count, 'segment', 1), 0, 0
  local i = args[2] == nonce and 3 or #args + 1 -- a server that has forgotten something may count the same turn again
  while i <= #args do
    local h, turn, n, of = read_host(c, args[i]), tonumber(args[i + 1]), tonumber(args[i + 2]), tonumber(args[i + 3])
    if h and h.turn == turn and h.back >= n then
      cut_back(c, h, n)
      for j = i + 4, i + 3 + of do call('RPUSH', runs(c, h), pack('>I4', id) .. sub(args[j], 5)) end
      h.tail = h.tail + n
      bump(c, 'tail', n)
      live, hosts = live + of, hosts + 1
      watch_head(c, h)
      write_host(c, h)
    end
    i = i + 4 + of
  end
  if live > 0 then
    call('HSET', c.prefix .. 'segments', id, live .. ' ' .. args[1])
  else
    call('HSET', c.prefix .. 'empty', args[1], c.wall)
  end
  close(c)
  return hosts
end, FREES)

-- args: n. Returns for some hungry hosts the run to be read next and the name of its segment.
verb('hungry', function(keys, args)
  local c = open(keys)
  local found = {}
  for _, name in ipairs(call('SRANDMEMBER', c.prefix .. 'hungry', args[1])) do
    local best, lowest
    for _, run in ipairs(call('LRANGE', c.prefix .. 'r:' .. name, 0, 15)) do
      local _, _, _, _, level = unpack_(RUN, run)
      if not best or level < lowest then best, lowest = run, level end
    end
    local text = call('HGET', c.prefix .. 'segments', tostring((unpack_(RUN, best))))
    found[#found + 1] = {name, best, string.match(text, '^%d+ (.*)$')}
  end
  return found
end, FREES)

-- args: host, run, entry, ... The run's entries are in the head again. Returns 1 if the run was still to be read.
verb('refill', function(keys, args)
  local c = open(keys)
  local h = read_host(c, args[1])
  if not h or call('LREM', runs(c, h), 1, args[2]) == 0 then return 0 end
  local _, _, _, n = unpack_(RUN, args[2])
  h.tail = h.tail - n
  bump(c, 'tail', -n)
  forget_run(c, args[2])
  local entries = h.head > 0 and call('LRANGE', queue(c, h), 0, h.head - 1) or {}
  if entries[1] and not same_origin(entries[1], args[3]) then set(h, SEVERAL) end
  for i = 3, #args do entries[#entries + 1] = args[i] end
  new_head(c, h, by_level(entries))
  unset(h, HUNGRY)
  call('SREM', c.prefix .. 'hungry', h.name)
  watch_head(c, h)
  settle_host(c, h)
  close(c)
  return 1
end, FREES)

-- args: for how many ms a segment is kept that nobody needs. Returns the names of those that are not kept, and of all
-- others.
verb('segments', function(keys, args)
  local c = look(keys)
  local empty, needed, over = call('HGETALL', c.prefix .. 'empty'), {}, {}
  local live = {} -- a spill that is repeated takes its first segment for empty
  for i, text in ipairs(call('HVALS', c.prefix .. 'segments')) do
    needed[i] = string.match(text, '^%d+ (.*)$')
    live[needed[i]] = true
  end
  for i = 1, #empty, 2 do
    local names = not live[empty[i]] and empty[i + 1] + args[1] < c.wall and over or needed
    names[#names + 1] = empty[i]
  end
  return {over, needed}
end, READS)

-- args: name, ... These segments are deleted.
verb('forget_segments', function(keys, args)
  local c = open(keys)
  in_chunks('HDEL', c.prefix .. 'empty', args)
end, FREES)
