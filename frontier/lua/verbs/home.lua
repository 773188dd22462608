-- What holds for the whole of a crawl: how it is spread, where its archive is, and its settings (Settings).

local function meta(keys) return sub(keys[1], 1, -6) .. 'meta' end

-- args: partitions, version, storage, its address ('': not said), settings ('': not said), a name for this making of it ; each is the
-- first that is said
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

-- All partitions are made: one that is not there from now on is lost.
verb('begun', function(keys) call('HSET', meta(keys), 'begun', 1) end)

-- Of a partition. args: the name of the crawl's making, 1 where it is to be made if it is not there, 2 where it is to be of this making
-- whatever it was. Returns of which making it is.
verb('begin', function(keys, args)
  if args[2] ~= '0' then
    call('HSETNX', keys[1], 'born', '')
    call(args[2] == '2' and 'HSET' or 'HSETNX', keys[1], 'made', args[1])
  end
  return call('HGET', keys[1], 'born') and call('HGET', keys[1], 'made') or ''
end)

-- Of a partition: the nonce, and its restarts (see `birth`).
verb('births', function(keys)
  open(keys)
  return {nonce, call('HGET', keys[1], 'births')}
end, FREES)

-- args: revision, settings ; they take the place of those of that revision. Returns 0 where there are others by now.
verb('change', function(keys, args)
  local key = meta(keys)
  local revision = tonumber(call('HGET', key, 'revision') or 0)
  if revision ~= tonumber(args[1]) then return 0 end
  call('HSET', key, 'settings', args[2], 'revision', revision + 1)
  return 1
end)

-- The frontier is being made from the archive: until it is complete nothing is leased. Returns which parts of it are done.
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
