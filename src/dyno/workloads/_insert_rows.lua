-- The insert benchmark's rows: random, but from the run's seed, and dated by a virtual clock.

local rows = {}

local EPOCH_S = 1262304000 -- the virtual clock starts at 2010-01-01 00:00:00 UTC

-- The columns after `dateandtime`, which the driver draws: built in Lua, a row costs half as much
-- again.
function rows.drawn()
  local opt, rand = sysbench.opt, dyno.rand
  return dyno.row {
    rand.uniform(0, opt.cashregisters - 1),
    rand.uniform(0, opt.customers - 1),
    rand.uniform(0, opt.products - 1),
    rand.uniform(0, opt.max_price - 1),
    rand.compressible(opt.data_length_min, opt.data_length_max, opt.data_random_percent),
  }
end

local known_s, known

-- The date of the rows that follow the table's row number `last`, as a literal.
function rows.date(last)
  local now_s = EPOCH_S + math.floor(last / sysbench.opt.clock_rows_per_s)
  if now_s ~= known_s then
    known_s, known = now_s, os.date("!'%Y-%m-%d %H:%M:%S'", now_s)
  end
  return known
end

return rows
