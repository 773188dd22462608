-- The values that hold for the whole of a crawl: its partitions, the storage of its archive, and its settings
-- (CrawlSettings).

local function meta(keys) return sub(keys[1], 1, -6) .. 'meta' end

-- args: partitions, version, storage, its address ('': not said), settings ('': not said), a creation id. Of each, the
-- first value that anybody says stays.
verb('make', function(keys, args)
  local key = meta(keys)
  call('HSETNX', keys[1], 'born', '')
  call('HSETNX', key, 'made', args[6])
  call('HSETNX', key, 'partitions', args[1])
  call('HSETNX', key, 'version', args[2])
  if args[3] ~= '' and call('HSETNX', key, 'storage', args[3]) == 1 then call('HSET', key, 'address', args[4]) end
  if args[5] ~= '' and call('HSETNX', key, 'settings', args[5]) == 1 then call('HSET', key, 'revision', 1) end
end)

verb('made', function(keys)
  return call('HMGET', meta(keys), 'partitions', 'version', 'storage', 'address', 'revision', 'settings', 'rebuilding', 'made', 'begun')
end, READS)

-- All partitions are made: a partition that is missing from now on is lost.
verb('begun', function(keys) call('HSET', meta(keys), 'begun', 1) end)

-- Of a partition. args: the crawl's creation id; 1 to make the partition if it is missing, 2 to give it this creation
-- id whatever it had. Returns its creation id.
verb('begin', function(keys, args)
  if args[2] ~= '0' then
    call('HSETNX', keys[1], 'born', '')
    call(args[2] == '2' and 'HSET' or 'HSETNX', keys[1], 'made', args[1])
  end
  return call('HGET', keys[1], 'born') and call('HGET', keys[1], 'made') or ''
end)

-- Of a partition. Returns the nonce, and its restarts (see `birth`).
verb('births', function(keys)
  open(keys)
  return {nonce, call('HGET', keys[1], 'births')}
end, FREES)

-- args: revision, settings. They replace the settings of that revision. Returns 0 if there is another revision by now.
verb('change', function(keys, args)
  local key = meta(keys)
  local revision = tonumber(call('HGET', key, 'revision') or 0)
  if revision ~= tonumber(args[1]) then return 0 end
  call('HSET', key, 'settings', args[2], 'revision', revision + 1)
  return 1
end)

-- The frontier is being made from the archive: until that is complete, nothing is leased. Returns the parts that are
-- done.
verb('rebuild', function(keys)
  call('HSET', meta(keys), 'rebuilding', 1)
  return call('SMEMBERS', sub(keys[1], 1, -6) .. 'rebuilt')
end)

-- args: a part that is done
verb('rebuilt', function(keys, args) call('SADD', sub(keys[1], 1, -6) .. 'rebuilt', args[1]) end)

verb('complete', function(keys)
  call('HDEL', meta(keys), 'rebuilding')
  call('UNLINK', sub(keys[1], 1, -6) .. 'rebuilt')
end, FREES)
