-- What must hold of the tables: the consistency conditions (clause 3.3.2), and the ledger, which
-- holds what users committed against what is there.
--
-- A condition counts the rows that break it. A row passes only where the comparison is true, so
-- NULL breaks it; what something should be there for is joined from the outside, so what is missing
-- breaks it; and where there is no row at all the sum is NULL, which is not zero.

local columns = require("_tpcc_columns")
local population = require("_tpcc_population")
local schema = require("_tpcc_schema")

local checks = {}

-- SQLite keeps amounts as floating-point numbers, whose sums are right to the cent.
local EQUAL = dyno.engine == "sqlite" and "ROUND(100 * (%s)) = ROUND(100 * (%s))" or "%s = %s"

local function equal(a, b)
  return EQUAL:format(a, b)
end

-- Rows of `from` for which `holds` is not true.
local function broken(holds, from)
  return string.format("SELECT SUM(CASE WHEN %s THEN 0 ELSE 1 END) FROM %s", holds, from)
end

local function per_district(table_name, prefix, columns)
  return string.format([[LEFT JOIN (SELECT %s_w_id, %s_d_id, %s FROM %s
      GROUP BY %s_w_id, %s_d_id) %s
    ON %s_w_id = d_w_id AND %s_d_id = d_id]], prefix, prefix, columns, table_name, prefix, prefix,
    "of_" .. prefix, prefix, prefix)
end

local ORDERS = "orders LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id " ..
  "AND no_o_id = o_id"

-- Each customer's delivered amounts and payments. An engine without hash joins reads each table
-- once, since it indexes what it groups.
local function customers()
  return string.format([[customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id,
      SUM(ol_amount) AS delivered FROM orders JOIN order_line
      ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
      WHERE NOT (%s) GROUP BY o_w_id, o_d_id, o_c_id) of_o
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
    LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history
      GROUP BY h_c_w_id, h_c_d_id, h_c_id) of_h
    ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id]], schema.dates().undelivered)
end

-- The conditions that hold at any time, by their numbers in the specification.
local function conditions()
  local undelivered = schema.dates().undelivered
  return {
    {"1: W_YTD = sum(D_YTD)", broken(equal("w_ytd", "ytd"),
      "warehouse LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) of_d "
      .. "ON d_w_id = w_id")},
    {"2: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
      broken("d_next_o_id - 1 = last_order AND d_next_o_id - 1 = "
        .. "COALESCE(last_new, d_next_o_id - 1)",
        "district " .. per_district("orders", "o", "MAX(o_id) AS last_order") .. " " ..
        per_district("new_orders", "no", "MAX(no_o_id) AS last_new"))},
    {"3: NEW-ORDER without gaps", broken("COALESCE(span, 0) = COALESCE(counted, 0)",
      "district " .. per_district("new_orders", "no",
        "MAX(no_o_id) - MIN(no_o_id) + 1 AS span, COUNT(*) AS counted"))},
    {"4: sum(O_OL_CNT) = count(ORDER-LINE)", broken("told = counted",
      "district " .. per_district("orders", "o", "SUM(o_ol_cnt) AS told") .. " " ..
      per_district("order_line", "ol", "COUNT(*) AS counted"))},
    {"5: O_CARRIER_ID is null where NEW-ORDER has a row",
      broken("(o_carrier_id IS NULL AND no_o_id IS NOT NULL) OR "
        .. "(o_carrier_id IS NOT NULL AND no_o_id IS NULL)", ORDERS)},
    {"5: NEW-ORDER has no row without an order", "SELECT COUNT(*) FROM new_orders LEFT JOIN orders "
      .. "ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL"},
    {"6: O_OL_CNT = count(ORDER-LINE) of each order", broken("o_ol_cnt = counted",
      "orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS counted FROM order_line "
      .. "GROUP BY ol_w_id, ol_d_id, ol_o_id) of_ol "
      .. "ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id")},
    {"7: OL_DELIVERY_D is null where O_CARRIER_ID is",
      broken(string.format("o_id IS NOT NULL AND ((o_carrier_id IS NULL AND %s) OR "
        .. "(o_carrier_id IS NOT NULL AND NOT (%s)))", undelivered, undelivered),
        "order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id")},
    {"8: W_YTD = sum(H_AMOUNT)", broken(equal("w_ytd", "paid"),
      "warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) "
      .. "of_h ON h_w_id = w_id")},
    {"9: D_YTD = sum(H_AMOUNT)", broken(equal("d_ytd", "paid"),
      "district " .. per_district("history", "h", "SUM(h_amount) AS paid"))},
    {"10: C_BALANCE = sum(delivered OL_AMOUNT) - sum(H_AMOUNT)",
      broken(equal("c_balance", "COALESCE(delivered, 0) - paid"), customers())},
    {"12: C_BALANCE + C_YTD_PAYMENT = sum(delivered OL_AMOUNT)",
      broken(equal("c_balance + c_ytd_payment", "COALESCE(delivered, 0)"), customers())},
  }
end

-- Condition 11, of the initial population alone; afterwards `orders delivered` of the ledger.
local function eleventh()
  return {"11: count(ORDER) - count(NEW-ORDER) is a district's delivered orders",
    broken("placed - COALESCE(waiting, 0) = " .. population.delivered(),
      "district " .. per_district("orders", "o", "COUNT(*) AS placed") .. " " ..
      per_district("new_orders", "no", "COUNT(*) AS waiting"))}
end

-- Ends the load with an error where the rows are not as they must be.
function checks.refuse_wrong_population(con)
  if dyno.engine == "null" then
    return
  end
  local all = conditions()
  all[#all + 1] = eleventh()
  for _, condition in ipairs(all) do
    local number = con:query_row(condition[2])
    if tonumber(number) ~= 0 then
      error(string.format("the initial population breaks condition %s: %s rows", condition[1],
        number or "no"))
    end
  end
end

-- Orders of the run with lines of their own number: of two hundred, each from 5 to 15 lines, there
-- are all eleven numbers (one is missing in one of 10^7 runs).
local function line_counts()
  return "SELECT CASE WHEN COUNT(*) >= 200 AND COUNT(DISTINCT o_ol_cnt) < 11 THEN 1 ELSE 0 END " ..
    "FROM orders WHERE o_id > " .. sysbench.opt.customers
end

local LOCAL = [[orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id,
    SUM(CASE WHEN ol_supply_w_id = ol_w_id THEN 0 ELSE 1 END) AS remote FROM order_line
    GROUP BY ol_w_id, ol_d_id, ol_o_id) of_ol
  ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id]]

-- SQL numbers that must be the counters' sums.
local COUNTED = {
  {"warehouses", "SELECT COUNT(*) FROM warehouse", {warehouses = 1}},
  {"districts", "SELECT COUNT(*) FROM district", {districts = 1}},
  {"customers", "SELECT COUNT(*) FROM customer", {customers = 1}},
  {"items", "SELECT COUNT(*) FROM item", {items = 1}},
  {"stock", "SELECT COUNT(*) FROM stock", {stock = 1}},
  {"orders = loaded + New-Orders committed", "SELECT COUNT(*) FROM orders",
    {customers = 1, new_orders = 1}},
  {"order lines = loaded + drawn - rolled back", "SELECT COUNT(*) FROM order_line",
    {lines_loaded = 1, lines_drawn = 1, lines_rolled_back = -1}},
  {"orders delivered",
    "SELECT (SELECT COUNT(*) FROM orders) - (SELECT COUNT(*) FROM new_orders)",
    {delivered_loaded = 1, delivered = 1}},
  {"customers' deliveries", "SELECT SUM(c_delivery_cnt) FROM customer", {delivered = 1}},
  {"history = loaded + Payments committed", "SELECT COUNT(*) FROM history",
    {customers = 1, payments = 1}},
  {"customers' payments", "SELECT SUM(c_payment_cnt) FROM customer",
    {customers = 1, payments = 1}},
  {"cents paid", "SELECT ROUND(100 * SUM(h_amount)) FROM history",
    {customers = 1000, cents_paid = 1}},
  {"stock taken, times", "SELECT SUM(s_order_cnt) FROM stock", {lines_committed = 1}},
  {"stock taken, pieces", "SELECT SUM(s_ytd) FROM stock", {quantity = 1}},
  {"stock taken from another warehouse", "SELECT SUM(s_remote_cnt) FROM stock",
    {remote_lines = 1}},
}

-- Sums of the counters themselves that must be zero.
local BALANCED = {
  {"commits = transactions", {commits = 1, new_orders = -1, payments = -1, order_statuses = -1,
    deliveries = -1, stock_levels = -1}},
  {"unused items = New-Orders rolled back", {unused_items = 1, rolled_back = -1}},
  {"customers by name that were not the middle one", {wrong_customers = 1}},
  {"Order-Status of another customer's order", {wrong_orders = 1}},
  {"users all of whose New-Orders failed", {all_failed_new_order = 1}},
  {"users all of whose Payments failed", {all_failed_payment = 1}},
  {"users all of whose Order-Statuses failed", {all_failed_order_status = 1}},
  {"users all of whose Deliveries failed", {all_failed_delivery = 1}},
  {"users all of whose Stock-Levels failed", {all_failed_stock_level = 1}},
}

function checks.ledger()
  local entries = {}
  for _, each in ipairs(conditions()) do
    entries[#entries + 1] = {name = "condition " .. each[1], sql = each[2], equals = 0}
  end
  for _, each in ipairs(COUNTED) do
    entries[#entries + 1] = {name = each[1], sql = each[2], counters = each[3]}
  end
  for _, each in ipairs(BALANCED) do
    entries[#entries + 1] = {name = each[1], counters = each[2]}
  end
  entries[#entries + 1] = {name = "O_ALL_LOCAL is 1 where no line is remote", equals = 0,
    sql = broken("o_all_local = CASE WHEN remote = 0 THEN 1 ELSE 0 END", LOCAL)}
  entries[#entries + 1] = {name = "orders have 5 to 15 lines", equals = 0,
    sql = broken("o_ol_cnt BETWEEN 5 AND 15", "orders")}
  entries[#entries + 1] = {name = "all numbers of lines from 5 to 15 occur", sql = line_counts(),
    equals = 0}
  for _, entry in ipairs(columns.entries(broken, equal)) do
    entries[#entries + 1] = entry
  end
  return entries
end

return checks
