-- What the five transactions make of their results, however their statements are sent: rows that
-- must be there, the customer of a name, the stock that is left; and what is counted for the ledger
-- once a transaction has committed.

local recheck = require("_tpcc_recheck")

local results = {}

-- `null` has no rows: one is made up there, so that the client's share can be measured.
local MADE_UP = setmetatable({}, {__index = function() return "1" end})
results.KEEPS_ROWS = dyno.engine ~= "null"

local function row(result)
  return result:fetch_row() or not results.KEEPS_ROWS and MADE_UP or nil
end

-- A row that must be there: without it the tables are not those that were loaded.
local function required(result, what, key)
  return row(result) or error(string.format("no row of %s for %s", what, key))
end

results.row, results.required = row, required

local second, now_text

function results.now()
  local at = os.time()
  if at ~= second then
    second, now_text = at, os.date("!%Y-%m-%d %H:%M:%S", at)
  end
  return now_text
end

-- By last name: of the customers in order of their first names the middle one, rounded up.
function results.middle_customer(result, w, d, last)
  local count = results.KEEPS_ROWS and result.nrows or 1
  local middle = math.ceil(count / 2)
  local found
  for _ = 1, middle do
    found = row(result)
  end
  if not found then
    error("nobody is called " .. last)
  end
  local c = tonumber(found[1])
  recheck.keep_customer(w, d, last, c)
  return c
end

-- What the warehouse has of an item is filled up by 91 before it falls below 10 (2.4.2.2).
function results.left_of(quantity, line)
  local left = tonumber(quantity) - line.quantity
  line.is_refill = left < 10
  return line.is_refill and left + 91 or left
end

-- What a line costs, by its item's row.
function results.amount(item, line)
  return math.floor(tonumber(item[1]) * 100 + 0.5) * line.quantity / 100
end

local DATA = 500 -- characters that are kept of a customer's data

-- The data of a customer of bad credit, with what it pays now in front.
function results.noted(drawn, c, data)
  local note = string.format("%d %d %d %d %d %.2f ", c, drawn.c_d, drawn.c_w, drawn.d, drawn.w,
    drawn.cents / 100)
  return (note .. data):sub(1, DATA)
end

-- ---- counted for the ledger -------------------------------------------------------------------

local counted = {}
results.counted = counted

function counted.new_order(drawn)
  local lines, quantity, remote, refills = drawn.lines, 0, 0, 0
  for _, line in ipairs(lines) do
    quantity = quantity + line.quantity
    remote = remote + (line.supply == drawn.w and 0 or 1)
    refills = refills + (line.is_refill and 1 or 0)
  end
  dyno.count("new_orders")
  dyno.count("lines_drawn", #lines)
  dyno.count("lines_committed", #lines)
  dyno.count("quantity", quantity)
  dyno.count("refills", refills)
  dyno.count("remote_lines", remote)
end

-- An order whose last item does not exist, by the lines that the engine said it had inserted.
function counted.rolled_back(drawn, lines)
  dyno.transaction("new_order_rolled_back") -- not one of those that NOPM counts
  dyno.count("lines_drawn", #drawn.lines - 1)
  dyno.count("lines_rolled_back", lines)
  dyno.count("rolled_back")
end

function counted.payment(drawn)
  dyno.count("payments")
  dyno.count("cents_paid", drawn.cents)
end

function counted.order_status(w, d, c, order)
  recheck.keep_order(w, d, c, order)
  dyno.count("order_statuses")
end

function counted.delivery(delivered)
  dyno.count("deliveries")
  dyno.count("delivered", delivered)
end

function counted.stock_level()
  dyno.count("stock_levels")
end

return results
