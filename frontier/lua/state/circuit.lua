-- Faults in a row at which the circuit of a host opens, and for how many ms; that doubles with every opening.
local FAULTS = {
  dns = {1, 60000}, connect = {1, 60000}, reset = {3, 30000}, timeout = {2, 30000}, tls = {3, 60000},
  busy = {1, 30000}, server = {5, 60000}, forbidden = {8, 300000},
}
local ANSWERS = {fetched = true, unchanged = true, redirected = true, gone = true, retry = true}
local SILENT = {dns = true, connect = true, reset = true, timeout = true, tls = true}
local RETRY_MS = 30000 -- doubles with every attempt
local LONGEST_HOLD_MS = 3600000
local LIVES = 8 -- openings in a row after which a host is dead that once answered
local STILLBORN = 3 -- the same for a host that never answered
local USUAL_DELAY_MS, LEAST = 1000, 30

-- Rests are for a delay of a second. A shorter delay shortens them, down to a thirtieth.
local function scaled(c, ms) return floor(max(ms * min(c.delay, USUAL_DELAY_MS) / USUAL_DELAY_MS, ms / LEAST)) end

-- Return what a host dies of if this fault was its last: a code of RESTS; `reason` may name the kind of the fault. A
-- dead host keeps the code in the place of its faults.
local function death_of(fault, reason)
  local code = REST_CODES[reason]
  return code and code > FAULT_KINDS and code <= KINDS_END and code or REST_CODES[fault]
end

local function death_in_words(code) return code == 0 and 'host_dead' or 'dead_' .. RESTS[code] end

-- Return why a dead host died.
local function death(h) return death_in_words(h.faults) end

local function close_circuit(c, h)
  if h.trips > 0 then bump(c, 'held', -1) end
  h.faults, h.trips = 0, 0
end

local function revive(c, h)
  close_circuit(c, h)
  if has(h.flags, DEAD) then
    unset(h, DEAD)
    bump(c, 'dead', -1)
  end
end

-- Record what an exchange says of its host; `rest` is for how long the server asked us to stay away. All exchanges that
-- were granted before the circuit opened count as one fault: the next opening takes a probe. A refusal (403) is an
-- answer: it ends a row of other faults, and they end a row of refusals.
local function judge(c, h, fault, rest, granted, reason)
  local forbidden = fault == 'forbidden'
  if fault == '' or (forbidden and not has(h.flags, FORBIDS)) then
    revive(c, h)
    set(h, ANSWERED)
  end
  if fault ~= '' and (h.trips == 0 or granted >= h.held) then
    local code = has(h.flags, DEAD) and h.faults or nil
    if code then h.faults = 0 end
    if forbidden then
      set(h, FORBIDS)
    elseif has(h.flags, FORBIDS) then
      unset(h, FORBIDS)
      close_circuit(c, h)
    end
    local rule = FAULTS[fault]
    h.faults = min(h.faults + 1, 255)
    if h.faults >= rule[1] or h.trips > 0 then
      if h.trips == 0 then bump(c, 'held', 1) end
      local wait = scaled(c, min(rule[2] * 2 ^ h.trips, LONGEST_HOLD_MS))
      if rest > 0 then wait = rest end
      h.trips, h.faults = min(h.trips + 1, 255), 0
      hold(c, h, wait, rest_code(reason, fault))
      if SILENT[fault] and h.trips >= (has(h.flags, ANSWERED) and LIVES or STILLBORN) then
        h.faults = death_of(fault, reason)
        -- If entries of the host notify, its waiting entries are given up one by one, when their turn comes (see
        -- `take`).
        if not has(h.flags, HEARS) then bury(c, h, 'failed', death(h)) end
        code = code and h.faults
        if not has(h.flags, DEAD) then bump(c, 'dead', 1) end
        set(h, DEAD)
      end
    end
    if code then h.faults = code end
  end
  hold(c, h, rest, rest_code(reason, fault))
end
