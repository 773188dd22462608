-- The name of a worker that is taken for dead is taken over: from then on its archive file and its leases are
-- another's. The worker may live after all, because its machine slept. So its name is refused here, whatever its own
-- clock says.

local function is_taken(c, worker) return c.taken > 0 and call('SISMEMBER', c.prefix .. 'taken', worker) == 1 end

local function refusal(worker) return {err = 'TAKENOVER ' .. worker} end

-- Return the refusal of a call about some leases, if one of them belongs to such a worker; `died` is '1' if the caller
-- settles on behalf of that worker.
local function refused(c, tokens, died)
  if c.taken == 0 or died == '1' then return nil end
  for _, token in ipairs(tokens) do
    local l = read_lease(c, token)
    if l and is_taken(c, l.worker) then return refusal(l.worker) end
  end
  return nil
end
