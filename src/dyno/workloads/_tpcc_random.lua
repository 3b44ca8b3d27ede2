-- TPC-C's random values (clauses 2.1.6, 4.3.2 and 4.3.3), by the run's seed.

local bit = require("bit")

local random = {}

local uniform = sysbench.rand.uniform
random.uniform = uniform

-- The constants C of NURand. The load's of last names and a run's must differ by 65 to 119, but
-- not by 96 or 112 (2.1.6.1): here by 108.
local C_LAST_OF_LOAD, C_LAST, C_CUSTOMER, C_ITEM = 100, 208, 259, 7911

-- From `low` to `high`, not uniform: `a` says how far.
local function nurand(a, c, low, high)
  return (bit.bor(uniform(0, a), uniform(low, high)) + c) % (high - low + 1) + low
end

function random.customer()
  return nurand(1023, C_CUSTOMER, 1, sysbench.opt.customers)
end

function random.item()
  return nurand(8191, C_ITEM, 1, sysbench.opt.items)
end

local SYLLABLES = {[0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION",
  "EING"}

-- The last name of a number from 0 to 999.
function random.name_of(number)
  return SYLLABLES[math.floor(number / 100)] .. SYLLABLES[math.floor(number / 10) % 10] ..
    SYLLABLES[number % 10]
end

-- Names that were loaded: three customers of a district share one, as with the standard's 3000.
local function names()
  return math.min(math.ceil(sysbench.opt.customers / 3), 1000)
end

function random.last_name()
  return random.name_of(nurand(255, C_LAST, 0, names() - 1))
end

-- The first customers have every name once, so that each is found.
function random.loaded_last_name(customer)
  if customer <= names() then
    return random.name_of(customer - 1)
  end
  return random.name_of(nurand(255, C_LAST_OF_LOAD, 0, names() - 1))
end

-- One in a hundred, or as many as said.
function random.percent(share)
  return uniform(1, 100) <= share
end

-- A number with so many decimals, as text; `low` and `high` in units of the last one.
function random.decimal(low, high, decimals)
  return string.format("%." .. decimals .. "f", uniform(low, high) / 10 ^ decimals)
end

local text = sysbench.rand.string
local templates = {}

-- Letters, between two lengths: no sign that an engine takes for another inside quotes.
local function letters(least, most)
  local length = uniform(least, most)
  local template = templates[length]
  if not template then
    template = ("@"):rep(length)
    templates[length] = template
  end
  return text(template)
end
random.text = letters

-- Data of items and stock: one in ten says somewhere that it is an original.
function random.data()
  local data = letters(26, 50)
  if not random.percent(10) then
    return data
  end
  local at = uniform(0, #data - 8)
  return data:sub(1, at) .. "ORIGINAL" .. data:sub(at + 9)
end

-- Two streets, a city, a state and a zip code, as literals.
function random.address()
  return string.format("'%s','%s','%s','%s','%s'", letters(10, 20), letters(10, 20),
    letters(10, 20), text("@@"), text("####11111"))
end

return random
