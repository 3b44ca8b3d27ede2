-- The options of tpcc, and what they may be.

local DATES = {null = true, default = true, not_null = true}

local function at_least(least)
  return function(_, text)
    local number = tonumber(text)
    return number ~= nil and number >= least and number % 1 == 0
  end
end

return {
  warehouses = {"Warehouses; one is 83 to 103 MB", 1, nil, at_least(1)},
  customers = {"Customers of a district, and orders it begins with; the standard has 3000", 3000,
    nil, at_least(10)},
  items = {"Items, and a warehouse's stock of them; the standard has 100000", 100000, nil,
    at_least(100)},
  pauses = {"Keying and think times: 0, none; 1, the standard's; a share of these between them", 0,
    sysbench.cmdline.ARG_DOUBLE,
    function(_, text) return tonumber(text) >= 0 and tonumber(text) <= 1 end},
  batched = {"Send together what needs no answer of one another; a server only", false},
  foreign_keys = {"Declare the nine foreign keys", false},
  dates = {"Delivery date of a line not yet delivered: null; default, a very old date; not_null, "
    .. "a schema in which every New-Order fails", "null", nil,
    function(_, text) return DATES[text] end},
  time = {"Seconds to measure, unless events are set", 10},
  warmup_time = {"Seconds to play before measuring", 2},
}
