-- The statements of the five transactions, prepared on a connection: each is a function that takes
-- the values of its parameters and answers the result.

local schema = require("_tpcc_schema")

local statements = {}

-- Rows that are read to be written are locked: so New-Order, Payment and Delivery are as isolated
-- as they must be (clause 3.4) by PostgreSQL's and MySQL's default levels. Engines that let in one
-- writer at a time have no such words.
local LOCKING = {sqlite = "", duckdb = ""}

-- A writer takes SQLite's lock at once: one that has read first would have to begin anew.
local BEGIN = {sqlite = "BEGIN IMMEDIATE"}

-- What is sent, by name, and the kind of each parameter: i(nteger), a(mount), t(ext).
local TEXTS = {
  begin_reading = {"", "BEGIN"},
  commit = {"", "COMMIT"},
  rollback = {"", "ROLLBACK"},

  buyer = {"iii", [[SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
    WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?]]},
  next_order = {"ii", [[SELECT d_next_o_id, d_tax FROM district
    WHERE d_w_id = ? AND d_id = ?%LOCKING]]},
  count_order = {"iii", "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?"},
  insert_order = {"iiiitii", [[INSERT INTO orders
    (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (?, ?, ?, ?, ?, ?, ?)]]},
  insert_new_order = {"iii", [[INSERT INTO new_orders (no_o_id, no_d_id, no_w_id)
    VALUES (?, ?, ?)]]},
  item = {"i", "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?"},
  take_stock = {"iiiii", [[UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?,
    s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?
    WHERE s_i_id = ? AND s_w_id = ?]]},

  pay_warehouse = {"ai", "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"},
  warehouse = {"i", [[SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name
    FROM warehouse WHERE w_id = ?]]},
  pay_district = {"aii", "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"},
  district = {"ii", [[SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name
    FROM district WHERE d_w_id = ? AND d_id = ?]]},
  customers_called = {"iit", [[SELECT c_id FROM customer
    WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first]]},
  payer = {"iii", [[SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
    c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?%LOCKING]]},
  payer_data = {"iii", "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"},
  pay = {"aaiii", [[UPDATE customer SET c_balance = c_balance - ?,
    c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?]]},
  pay_on_bad_credit = {"aatiii", [[UPDATE customer SET c_balance = c_balance - ?,
    c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, c_data = ?
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?]]},
  insert_history = {"iiiiitat", [[INSERT INTO history
    (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)]]},

  customer = {"iii", [[SELECT c_balance, c_first, c_middle, c_last FROM customer
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?]]},
  last_order = {"iii", [[SELECT o_id, o_carrier_id, o_entry_d FROM orders
    WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1]]},
  lines = {"iii", [[SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?]]},

  oldest_new_order = {"ii", [[SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ?
    ORDER BY no_o_id LIMIT 1%LOCKING]]},
  delete_new_order = {"iii", [[DELETE FROM new_orders
    WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?]]},
  deliver_order = {"iiii", [[UPDATE orders SET o_carrier_id = ?
    WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?]]},
  delivered_customer = {"iii", [[SELECT o_c_id FROM orders
    WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?]]},
  deliver_lines = {"tiii", [[UPDATE order_line SET ol_delivery_d = ?
    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?]]},
  sum_lines = {"iii", [[SELECT SUM(ol_amount) FROM order_line
    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?]]},
  charge = {"aiii", [[UPDATE customer SET c_balance = c_balance + ?,
    c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?]]},

  last_order_number = {"ii", "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"},
  low_stock = {"iiiiii", [[SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock
    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ?
    AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?]]},
}

local STOCK = [[SELECT s_quantity, s_data, s_dist_%02d FROM stock
  WHERE s_i_id = ? AND s_w_id = ?]]
-- `ol_delivery_d` by its default; where that may not be NULL, NULL is what the others send.
local LINE = [[INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id,
  ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info%s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?%s)]]

local TYPE = {i = sysbench.sql.type.BIGINT, a = sysbench.sql.type.DOUBLE,
  t = sysbench.sql.type.VARCHAR}
local MOST = 512 -- bytes of a text and its end, which sysbench wants to be told

local function prepare(con, kinds, sql)
  local statement, cells = con:prepare(sql), {}
  for at = 1, #kinds do
    cells[at] = statement:bind_create(TYPE[kinds:sub(at, at)], MOST)
  end
  if #cells == 0 then
    return function()
      return statement:execute()
    end
  end
  statement:bind_param(unpack(cells))
  local count = #cells
  return function(...)
    for at = 1, count do
      cells[at]:set((select(at, ...)))
    end
    return statement:execute()
  end
end

-- All of them on one connection. `stock[d]` reads what a warehouse has of an item for district d;
-- `begin` is what a transaction that writes begins with, if not the engine's usual word.
function statements.prepare(con, begin)
  local locking = LOCKING[dyno.engine] or " FOR UPDATE"
  local prepared = {stock = {}}
  for name, text in pairs(TEXTS) do
    prepared[name] = prepare(con, text[1], (text[2]:gsub("%%LOCKING", locking)))
  end
  prepared.begin = prepare(con, "", begin or BEGIN[dyno.engine] or "BEGIN")
  for d = 1, 10 do
    prepared.stock[d] = prepare(con, "ii", STOCK:format(d) .. locking)
  end
  local names_date = sysbench.opt.dates ~= "default"
  prepared.insert_line = prepare(con, "iiiiiiiat",
    LINE:format(names_date and ", ol_delivery_d" or "", names_date and ", NULL" or ""))
  return prepared
end

return statements
