-- The five transactions (clauses 2.4 to 2.8) on one connection, each from what was drawn for it;
-- each statement waits for its answer. What a transaction did is counted after its commit.

local prepare_statements = require("_tpcc_statements").prepare
local results = require("_tpcc_results")

local row, required, counted = results.row, results.required, results.counted

local transactions = {}

local send -- the connection's statements

local function commit()
  send.commit()
  dyno.count("commits")
end

local function by_name(w, d, last)
  return results.middle_customer(send.customers_called(w, d, last), w, d, last)
end

local function take_back(drawn, lines)
  send.rollback()
  counted.rolled_back(drawn, lines)
end

local function take_stock(drawn, line)
  local stock = required(send.stock[drawn.d](line.item, line.supply), "stock", line.item)
  send.take_stock(results.left_of(stock[1], line), line.quantity,
    line.supply == drawn.w and 0 or 1, line.item, line.supply)
  return stock[3]
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
  send.insert_order(order, d, w, drawn.c, results.now(), #lines, drawn.all_local)
  send.insert_new_order(order, d, w)
  local inserted = 0
  for number, line in ipairs(lines) do
    local item = row(send.item(line.item))
    if not item then
      return take_back(drawn, inserted)
    end
    local dist = take_stock(drawn, line)
    inserted = inserted + send.insert_line(order, d, w, number, line.item, line.supply,
      line.quantity, results.amount(item, line), dist).nrows
  end
  commit()
  counted.new_order(drawn)
end

local function pay(drawn, c, amount)
  local w, d = drawn.c_w, drawn.c_d
  local payer = required(send.payer(w, d, c), "customer", c)
  if payer[10] ~= "BC" then
    return send.pay(amount, amount, w, d, c)
  end
  local data = required(send.payer_data(w, d, c), "customer", c)[1]
  send.pay_on_bad_credit(amount, amount, results.noted(drawn, c, data), w, d, c)
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
  send.insert_history(drawn.c_d, drawn.c_w, c, d, w, results.now(), amount,
    warehouse[6] .. "    " .. district[6])
  commit()
  counted.payment(drawn)
end

local function order_status(drawn)
  local w, d = drawn.w, drawn.d
  send.begin_reading()
  local c = drawn.c or by_name(w, d, drawn.last)
  required(send.customer(w, d, c), "customer", c)
  local order = tonumber(required(send.last_order(w, d, c), "orders", c)[1])
  send.lines(w, d, order)
  commit()
  counted.order_status(w, d, c, order)
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
  if results.KEEPS_ROWS and send.delete_new_order(w, d, order).nrows == 0 then
    return 0 -- somebody else has just delivered it
  end
  send.deliver_order(drawn.carrier, w, d, order)
  local c = tonumber(required(send.delivered_customer(w, d, order), "orders", order)[1])
  send.deliver_lines(results.now(), w, d, order)
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
  counted.delivery(delivered)
end

local function stock_level(drawn)
  local w, d = drawn.w, drawn.d
  send.begin_reading()
  local next_order = tonumber(required(send.last_order_number(w, d), "district", d)[1])
  send.low_stock(w, d, next_order, next_order - 20, w, drawn.threshold)
  commit()
  counted.stock_level()
end

-- Prepares the statements; answers the transactions by their names.
function transactions.open(con)
  send = prepare_statements(con)
  return {new_order = new_order, payment = payment, order_status = order_status,
    delivery = delivery, stock_level = stock_level}
end

return transactions
