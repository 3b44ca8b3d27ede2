-- TPC-C's random values (clauses 2.1.6 and 4.3.2), by the run's seed.

local bit = require("bit")

local random = {}

local uniform = sysbench.rand.uniform
random.uniform = uniform

-- The constants C of NURand. The load's of last names and a run's must differ by 65 to 119, but
-- not by 96 or 112 (2.1.6.1): here by 108.
random.C_LAST_OF_LOAD = 100
local C_LAST, C_CUSTOMER, C_ITEM = 208, 259, 7911

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

-- Names that are loaded, a district's first customers having each once, so that each is found:
-- three customers share one, as with the standard's 3000.
function random.names()
  return math.min(math.ceil(sysbench.opt.customers / 3), 1000)
end

function random.last_name()
  return random.name_of(nurand(255, C_LAST, 0, random.names() - 1))
end

-- One in a hundred, or as many as said.
function random.percent(share)
  return uniform(1, 100) <= share
end

return random
