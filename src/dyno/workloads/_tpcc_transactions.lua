-- The five transactions (clauses 2.4 to 2.8) on one connection, each from what was drawn for it.
-- What a transaction did is counted after its commit, for the ledger.

local prepare_statements = require("_tpcc_statements").prepare
local recheck = require("_tpcc_recheck")

local transactions = {}

local send -- the connection's statements

-- `null` has no rows: one is made up there, so that the client's share can be measured.
local MADE_UP = setmetatable({}, {__index = function() return "1" end})
local KEEPS_ROWS = dyno.engine ~= "null"

local function row(result)
  return result:fetch_row() or not KEEPS_ROWS and MADE_UP or nil
end

-- A row that must be there: without it the tables are not those that were loaded.
local function required(result, what, key)
  return row(result) or error(string.format("no row of %s for %s", what, key))
end

local second, now_text

local function now()
  local at = os.time()
  if at ~= second then
    second, now_text = at, os.date("!%Y-%m-%d %H:%M:%S", at)
  end
  return now_text
end

local function commit()
  send.commit()
  dyno.count("commits")
end

-- By last name: of the customers in order of their first names the middle one, rounded up.
local function by_name(w, d, last)
  local result = send.customers_called(w, d, last)
  local count = KEEPS_ROWS and result.nrows or 1
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

local function take_back(drawn, lines)
  send.rollback()
  dyno.transaction("new_order_rolled_back") -- not one of those that NOPM counts
  dyno.count("lines_drawn", #drawn.lines - 1)
  dyno.count("lines_rolled_back", lines)
  dyno.count("rolled_back")
end

-- What the warehouse has of an item is filled up by 91 before it falls below 10 (2.4.2.2).
local function take_stock(drawn, line)
  local stock = required(send.stock[drawn.d](line.item, line.supply), "stock", line.item)
  local left = tonumber(stock[1]) - line.quantity
  send.take_stock(left >= 10 and left or left + 91, line.quantity,
    line.supply == drawn.w and 0 or 1, line.item, line.supply)
  return stock[3]
end

local function count_order(drawn)
  local lines, quantity, remote = drawn.lines, 0, 0
  for _, line in ipairs(lines) do
    quantity = quantity + line.quantity
    remote = remote + (line.supply == drawn.w and 0 or 1)
  end
  dyno.count("new_orders")
  dyno.count("lines_drawn", #lines)
  dyno.count("lines_committed", #lines)
  dyno.count("quantity", quantity)
  dyno.count("remote_lines", remote)
end

local function new_order(drawn)
  local w, d, lines = drawn.w, drawn.d, drawn.lines
  if drawn.is_invalid then
    dyno.count("unused_items")
  end
  send.begin()
  required(send.buyer(w, d, drawn.c), "customer", drawn.c)
  local order = tonumber(required(send.next_order(w, d), "district", d)[1])
  send.count_order(order + 1, w, d)
  send.insert_order(order, d, w, drawn.c, now(), #lines, drawn.all_local)
  send.insert_new_order(order, d, w)
  local inserted = 0
  for number, line in ipairs(lines) do
    local item = row(send.item(line.item))
    if not item then
      return take_back(drawn, inserted)
    end
    local dist = take_stock(drawn, line)
    local cents = math.floor(tonumber(item[1]) * 100 + 0.5) * line.quantity
    inserted = inserted + send.insert_line(order, d, w, number, line.item, line.supply,
      line.quantity, cents / 100, dist).nrows
  end
  commit()
  count_order(drawn)
end

local DATA = 500 -- characters that are kept of a customer's data

local function pay(drawn, c, amount)
  local w, d = drawn.c_w, drawn.c_d
  local payer = required(send.payer(w, d, c), "customer", c)
  if payer[10] ~= "BC" then
    return send.pay(amount, amount, w, d, c)
  end
  local data = required(send.payer_data(w, d, c), "customer", c)[1]
  local note = string.format("%d %d %d %d %d %.2f ", c, d, w, drawn.d, drawn.w, amount)
  send.pay_on_bad_credit(amount, amount, (note .. data):sub(1, DATA), w, d, c)
end

local function payment(drawn)
  local w, d, amount = drawn.w, drawn.d, drawn.cents / 100
  send.begin()
  send.pay_warehouse(amount, w)
  local warehouse = required(send.warehouse(w), "warehouse", w)
  send.pay_district(amount, w, d)
  local district = required(send.district(w, d), "district", d)
  local c = drawn.c or by_name(drawn.c_w, drawn.c_d, drawn.last)
  pay(drawn, c, amount)
  send.insert_history(drawn.c_d, drawn.c_w, c, d, w, now(), amount,
    warehouse[6] .. "    " .. district[6])
  commit()
  dyno.count("payments")
  dyno.count("cents_paid", drawn.cents)
end

local function order_status(drawn)
  local w, d = drawn.w, drawn.d
  send.begin_reading()
  local c = drawn.c or by_name(w, d, drawn.last)
  required(send.customer(w, d, c), "customer", c)
  local order = tonumber(required(send.last_order(w, d, c), "orders", c)[1])
  send.lines(w, d, order)
  commit()
  recheck.keep_order(w, d, c, order)
  dyno.count("order_statuses")
end

-- The order is marked before its customer is read: in MySQL a transaction sees its own change also
-- where the order is younger than its snapshot.
local function deliver(drawn, d)
  local w = drawn.w
  local oldest = row(send.oldest_new_order(w, d))
  if not oldest then
    return 0 -- nothing to deliver (2.7.4.2)
  end
  local order = tonumber(oldest[1])
  if KEEPS_ROWS and send.delete_new_order(w, d, order).nrows == 0 then
    return 0 -- somebody else has just delivered it
  end
  send.deliver_order(drawn.carrier, w, d, order)
  local c = tonumber(required(send.delivered_customer(w, d, order), "orders", order)[1])
  send.deliver_lines(now(), w, d, order)
  local amount = tonumber(required(send.sum_lines(w, d, order), "order_line", order)[1])
  send.charge(amount, w, d, c)
  return 1
end

local function delivery(drawn)
  local delivered = 0
  send.begin()
  for d = 1, 10 do
    delivered = delivered + deliver(drawn, d)
  end
  commit()
  dyno.count("deliveries")
  dyno.count("delivered", delivered)
end

local function stock_level(drawn)
  local w, d = drawn.w, drawn.d
  send.begin_reading()
  local next_order = tonumber(required(send.last_order_number(w, d), "district", d)[1])
  send.low_stock(w, d, next_order, next_order - 20, w, drawn.threshold)
  commit()
  dyno.count("stock_levels")
end

-- Prepares the statements; answers the transactions by their names.
function transactions.open(con)
  send = prepare_statements(con)
  return {new_order = new_order, payment = payment, order_status = order_status,
    delivery = delivery, stock_level = stock_level}
end

return transactions
