-- Faults in a row at which the circuit of a host opens, and for how long; that doubles with every opening.
local FAULTS = {
  dns = {1, 60000}, connect = {1, 60000}, reset = {3, 30000}, timeout = {2, 30000}, tls = {3, 60000},
  busy = {1, 30000}, server = {5, 60000},
}
local ANSWERS = {fetched = true, unchanged = true, redirected = true, gone = true, retry = true}
local SILENT = {dns = true, connect = true, reset = true, timeout = true, tls = true}
local LONGEST_HOLD_MS = 3600000
local LIVES = 8 -- openings in a row after which a host is dead that once answered
local STILLBORN = 3 -- and one that never did

-- What an exchange told of its host; `rest` is for how long the server asked us to stay away. A fault counts once for all
-- that was granted before the circuit opened: the next opening takes a probe.
local function judge(c, h, fault, rest, granted)
  if fault == '' then
    if h.trips > 0 then bump(c, 'held', -1) end
    h.faults, h.trips = 0, 0
    set(h, ANSWERED)
    if has(h.flags, DEAD) then
      unset(h, DEAD)
      bump(c, 'dead', -1)
    end
  elseif h.trips == 0 or granted >= h.held then
    local rule = FAULTS[fault]
    h.faults = min(h.faults + 1, 255)
    if h.faults >= rule[1] or h.trips > 0 then
      if h.trips == 0 then bump(c, 'held', 1) end
      local wait = min(rule[2] * 2 ^ h.trips, LONGEST_HOLD_MS)
      if rest > 0 then wait = rest end
      h.trips, h.faults = min(h.trips + 1, 255), 0
      hold(c, h, wait)
      if SILENT[fault] and h.trips >= (has(h.flags, ANSWERED) and LIVES or STILLBORN) then
        bury(c, h, 'failed', 'host_dead')
        set(h, DEAD)
        bump(c, 'dead', 1)
      end
    end
  end
  hold(c, h, rest)
end
