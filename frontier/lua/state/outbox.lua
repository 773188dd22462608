-- A page that is settled here, because no worker is to fetch it, is kept with its entry until it is in the crawl's log:
-- otherwise nothing would be left by which it could be requested again.

local CONCLUSION = '>I6BBB' -- when, by TIME; lengths of outcome, reason and host, which follow

local function conclusion(wall, outcome, reason, name)
  return pack(CONCLUSION, wall, #outcome, #reason, #name) .. outcome .. reason .. name
end

local function settle_here(c, outcome, reason, name, entry)
  conclude(c, outcome, reason, 1)
  bump(c, 'unlogged', 1)
  call('RPUSH', c.prefix .. 'unlogged', conclusion(c.wall, outcome, reason, name) .. entry)
end

-- For a host whose pages were all settled at once: its queue and its runs, unchanged.
local function closed_queue(c, id) return c.prefix .. 'closed:' .. id end

local function closed_runs(c, id) return c.prefix .. 'closedruns:' .. id end
