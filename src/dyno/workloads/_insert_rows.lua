-- The insert benchmark's rows: random, but from the run's seed, and dated by a virtual clock.

local rows = {}

local EPOCH_S = 1262304000 -- the virtual clock starts at 2010-01-01 00:00:00 UTC
local POOL_BYTES = 65536   -- random text that the data columns are cut from

local buffer = require("string.buffer").new()

-- LuaJIT compiles its own random numbers but no calls into the driver: a third of the time per
-- row. They are seeded from the run's seed, so rows repeat all the same. As integers of 32
-- bits, like their columns, they are written without a detour over doubles: a third of the rest.
local random, tobit = math.random, bit.tobit
local shape

local function uniform(least, most)
  return tobit(random(least, most))
end

-- To be called before the first row, in `thread_init`.
function rows.seed()
  local opt = sysbench.opt
  math.randomseed(sysbench.rand.uniform(1, 2 ^ 31 - 1))
  shape = {
    cashregisters = opt.cashregisters - 1,
    customers = opt.customers - 1,
    products = opt.products - 1,
    max_price = opt.max_price - 1,
    shortest = opt.data_length_min,
    longest = opt.data_length_max,
    random_share = opt.data_random_percent / 100,
    pool = sysbench.rand.string(string.rep("@", POOL_BYTES)),
    filler = string.rep("a", opt.data_length_max),
  }
end

local function put_row(lead)
  local length = uniform(shape.shortest, shape.longest)
  local varied = math.floor(length * shape.random_share)
  local at = uniform(1, POOL_BYTES - varied)
  buffer:put(lead, uniform(0, shape.cashregisters), ",", uniform(0, shape.customers), ",",
    uniform(0, shape.products), ",", uniform(0, shape.max_price), ",'",
    shape.filler:sub(1, length - varied), shape.pool:sub(at, at + varied - 1), "'")
end

-- `head` and so many rows, all of one date: that of the table's row number `last`.
function rows.statement(head, count, last)
  local now_s = EPOCH_S + math.floor(last / sysbench.opt.clock_rows_per_s)
  local date = os.date("!('%Y-%m-%d %H:%M:%S',", now_s)
  local next_row = ")," .. date
  buffer:reset():put(head)
  put_row(date)
  for _ = 2, count do
    put_row(next_row)
  end
  return buffer:put(")"):tostring()
end

return rows
