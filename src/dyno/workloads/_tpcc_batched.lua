-- The five transactions in as few round trips as their results allow: statements that need no
-- answer of one another leave together (`batched`). They are those of `_tpcc_transactions.lua`, in
-- an order of their own: of an order with an item that does not exist stock is looked up all the
-- same, which finds none.
--
-- No COMMIT leaves together with a change: on MySQL a statement that fails does not end the batch.

local prepare_statements = require("_tpcc_statements").prepare
local results = require("_tpcc_results")

local row, required, counted = results.row, results.required, results.counted

local batched = {}

local con, send -- the connection, and its statements

local function commit()
  send.commit()
  dyno.count("commits")
end

-- ---- New-Order --------------------------------------------------------------------------------

-- Inserts the order without its lines; answers the rows of each line's item and stock in turn.
local function read_lines(drawn, order)
  local w, d, lines = drawn.w, drawn.d, drawn.lines
  con:pipeline_begin()
  send.count_order(order + 1, w, d)
  send.insert_order(order, d, w, drawn.c, results.now(), #lines, drawn.all_local)
  send.insert_new_order(order, d, w)
  for _, line in ipairs(lines) do
    send.item(line.item)
    send.stock[d](line.item, line.supply)
  end
  local asked, rows = con:pipeline_results(), {}
  for at = 4, #asked do
    rows[at - 3] = row(asked[at])
  end
  return rows
end

-- Writes all lines but one whose item does not exist, and says how many were inserted. Where an
-- order has an item twice, the second line finds what the first has left.
local function write_lines(drawn, order, rows)
  local w, d, left_of = drawn.w, drawn.d, {}
  con:pipeline_begin()
  for number, line in ipairs(drawn.lines) do
    local item, stock = rows[2 * number - 1], rows[2 * number]
    if item then
      local known = stock or error("no row of stock for " .. line.item)
      local key = line.item * 65536 + line.supply
      left_of[key] = results.left_of(left_of[key] or known[1], line)
      send.take_stock(left_of[key], line.quantity, line.supply == w and 0 or 1, line.item,
        line.supply)
      send.insert_line(order, d, w, number, line.item, line.supply, line.quantity,
        results.amount(item, line), known[3])
    end
  end
  local written, inserted = con:pipeline_results(), 0
  for at = 2, #written, 2 do
    inserted = inserted + written[at].nrows
  end
  return inserted
end

local function new_order(drawn)
  local w, d = drawn.w, drawn.d
  if drawn.is_invalid then
    dyno.count("unused_items")
  end
  con:pipeline_begin()
  send.begin()
  send.buyer(w, d, drawn.c)
  send.next_order(w, d)
  local asked = con:pipeline_results()
  required(asked[2], "customer", drawn.c)
  local order = tonumber(required(asked[3], "district", d)[1])
  local rows = read_lines(drawn, order)
  local inserted = write_lines(drawn, order, rows)
  if not rows[2 * #drawn.lines - 1] then
    send.rollback()
    return counted.rolled_back(drawn, inserted)
  end
  commit()
  counted.new_order(drawn)
end

-- ---- Payment ----------------------------------------------------------------------------------

-- Pays the warehouse and the district, whose names the history wants; answers them and the payer.
local function find_payer(drawn)
  local w, d, c_w, c_d, amount = drawn.w, drawn.d, drawn.c_w, drawn.c_d, drawn.cents / 100
  con:pipeline_begin()
  send.begin()
  send.pay_warehouse(amount, w)
  send.warehouse(w)
  send.pay_district(amount, w, d)
  send.district(w, d)
  if drawn.c then
    send.payer(c_w, c_d, drawn.c)
  else
    send.customers_called(c_w, c_d, drawn.last)
  end
  local asked, c = con:pipeline_results(), drawn.c
  local names = required(asked[3], "warehouse", w)[6] .. "    "
    .. required(asked[5], "district", d)[6]
  local found = asked[6]
  if not c then
    c = results.middle_customer(found, c_w, c_d, drawn.last)
    found = send.payer(c_w, c_d, c)
  end
  return c, required(found, "customer", c), names
end

local function payment(drawn)
  local c_w, c_d, amount = drawn.c_w, drawn.c_d, drawn.cents / 100
  local c, payer, names = find_payer(drawn)
  local is_bad = payer[10] == "BC"
  local data = is_bad and required(send.payer_data(c_w, c_d, c), "customer", c)[1]
  con:pipeline_begin()
  if is_bad then
    send.pay_on_bad_credit(amount, amount, results.noted(drawn, c, data), c_w, c_d, c)
  else
    send.pay(amount, amount, c_w, c_d, c)
  end
  send.insert_history(c_d, c_w, c, drawn.d, drawn.w, results.now(), amount, names)
  con:pipeline_sync()
  commit()
  counted.payment(drawn)
end

-- ---- Order-Status and Stock-Level, which only read --------------------------------------------

local function order_status(drawn)
  local w, d, c = drawn.w, drawn.d, drawn.c
  con:pipeline_begin()
  send.begin_reading()
  if not c then
    send.customers_called(w, d, drawn.last)
    c = results.middle_customer(con:pipeline_results()[2], w, d, drawn.last)
    con:pipeline_begin()
  end
  send.customer(w, d, c)
  send.last_order(w, d, c)
  local asked = con:pipeline_results()
  required(asked[#asked - 1], "customer", c)
  local order = tonumber(required(asked[#asked], "orders", c)[1])
  con:pipeline_begin()
  send.lines(w, d, order)
  commit()
  con:pipeline_sync()
  counted.order_status(w, d, c, order)
end

local function stock_level(drawn)
  local w, d = drawn.w, drawn.d
  con:pipeline_begin()
  send.begin_reading()
  send.last_order_number(w, d)
  local next_order = tonumber(required(con:pipeline_results()[2], "district", d)[1])
  con:pipeline_begin()
  send.low_stock(w, d, next_order, next_order - 20, w, drawn.threshold)
  commit()
  con:pipeline_sync()
  counted.stock_level()
end

-- ---- Delivery ---------------------------------------------------------------------------------

-- The oldest new order of each district that has one, taken out; one that somebody else has just
-- delivered is none.
local function take_oldest(w)
  con:pipeline_begin()
  send.begin()
  for d = 1, 10 do
    send.oldest_new_order(w, d)
  end
  local asked, found, taken = con:pipeline_results(), {}, {}
  con:pipeline_begin()
  for d = 1, 10 do
    local oldest = row(asked[d + 1])
    if oldest then
      found[#found + 1] = {d = d, order = tonumber(oldest[1])}
      send.delete_new_order(w, d, found[#found].order)
    end
  end
  for at, deleted in ipairs(con:pipeline_results()) do
    if deleted.nrows > 0 or not results.KEEPS_ROWS then
      taken[#taken + 1] = found[at]
    end
  end
  return taken
end

local function delivery(drawn)
  local w, taken = drawn.w, take_oldest(drawn.w)
  con:pipeline_begin()
  for _, one in ipairs(taken) do
    send.deliver_order(drawn.carrier, w, one.d, one.order)
    send.delivered_customer(w, one.d, one.order)
    send.deliver_lines(results.now(), w, one.d, one.order)
    send.sum_lines(w, one.d, one.order)
  end
  local asked = con:pipeline_results()
  con:pipeline_begin()
  for at, one in ipairs(taken) do
    local c = tonumber(required(asked[4 * at - 2], "orders", one.order)[1])
    local amount = tonumber(required(asked[4 * at], "order_line", one.order)[1])
    send.charge(amount, w, one.d, c)
  end
  con:pipeline_sync()
  commit()
  counted.delivery(#taken)
end

-- Where a deadlock ends a transaction amid a batch, MySQL plays the rest of the batch all the same:
-- without autocommit that is another transaction, which is rolled back with the event. It is said
-- in each transaction, since a connection may be a new one.
local BEGIN = dyno.engine == "mysql" and "SET autocommit = 0" or nil

-- Prepares the statements; answers the transactions by their names.
function batched.open(opened)
  con, send = opened, prepare_statements(opened, BEGIN)
  return {new_order = new_order, payment = payment, order_status = order_status,
    delivery = delivery, stock_level = stock_level}
end

return batched
