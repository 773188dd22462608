-- What is settled here, because nobody is to fetch it, is kept until it is in the crawl's log, with its entry: else
-- nothing of it would be left that it could be asked again by.

local CONCLUSION = '>I6BBB' -- when, by TIME; letters of outcome, reason and host, which follow

local function conclusion(wall, outcome, reason, name)
  return pack(CONCLUSION, wall, #outcome, #reason, #name) .. outcome .. reason .. name
end

local function settle_here(c, outcome, reason, name, entry)
  conclude(c, outcome, reason, 1)
  bump(c, 'unlogged', 1)
  call('RPUSH', c.prefix .. 'unlogged', conclusion(c.wall, outcome, reason, name) .. entry)
end

-- Of a host of which everything was settled at once: its queue and its runs as they were.
local function closed_queue(c, id) return c.prefix .. 'closed:' .. id end

local function closed_runs(c, id) return c.prefix .. 'closedruns:' .. id end
