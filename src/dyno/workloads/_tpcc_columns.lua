-- Columns that the run writes and no consistency condition covers, each held against others that
-- say the same. Rows of the initial population are left out where they were drawn.

local columns = {}

local DIST_INFO = {}
for d = 1, 10 do
  DIST_INFO[d] = ("WHEN %d THEN s_dist_%02d"):format(d, d)
end

-- Lines of the run for which `holds` is not true; of none there is nothing wrong.
local function broken_lines(holds, join)
  return ("SELECT COALESCE(SUM(CASE WHEN %s THEN 0 ELSE 1 END), 0) FROM order_line %s "
    .. "WHERE ol_o_id > %d"):format(holds, join, sysbench.opt.customers)
end

local NUMBERS = [[orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, SUM(ol_number) AS numbers
    FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) of_ol
  ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id]]
local TAKEN = [[stock LEFT JOIN (SELECT ol_supply_w_id, ol_i_id, SUM(ol_quantity) AS pieces,
    COUNT(*) AS taken FROM order_line WHERE ol_o_id > %d GROUP BY ol_supply_w_id, ol_i_id) of_ol
  ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id]]
-- What a payment notes of a customer of bad credit begins with the customer's number.
local NOTED = "c_credit <> 'BC' OR c_payment_cnt = 1 OR "
  .. "SUBSTR(c_data, 1, LENGTH(CAST(c_id AS CHAR(10)))) = CAST(c_id AS CHAR(10))"

-- Names with SQL that counts what is wrong. `broken(holds, from)` and `equal(a, b)` are those of
-- `_tpcc_checks.lua`.
local function conditions(broken, equal)
  return {
    {"O_CARRIER_ID is from 1 to 10",
      broken("o_carrier_id IS NULL OR o_carrier_id BETWEEN 1 AND 10", "orders")},
    {"OL_NUMBER is from 1 to O_OL_CNT", broken("2 * numbers = o_ol_cnt * (o_ol_cnt + 1)", NUMBERS)},
    {"S_YTD and S_ORDER_CNT are the lines' of the item and its warehouse",
      broken("s_ytd = COALESCE(pieces, 0) AND s_order_cnt = COALESCE(taken, 0)",
        TAKEN:format(sysbench.opt.customers))},
    {"OL_AMOUNT = OL_QUANTITY * I_PRICE", broken_lines(
      equal("ol_amount", "ol_quantity * i_price"), "LEFT JOIN item ON i_id = ol_i_id")},
    {"OL_DIST_INFO is the stock's", broken_lines(
      "ol_dist_info = CASE ol_d_id " .. table.concat(DIST_INFO, " ") .. " END",
      "LEFT JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id")},
    {"C_DATA of bad credit is noted", broken(NOTED, "customer")},
    {"O_ENTRY_D is there", broken("o_entry_d IS NOT NULL", "orders")},
    {"H_DATE and H_DATA are there", broken("h_date IS NOT NULL AND h_data IS NOT NULL", "history")},
  }
end

function columns.entries(broken, equal)
  local entries = {}
  for at, each in ipairs(conditions(broken, equal)) do
    entries[at] = {name = each[1], sql = each[2], equals = 0}
  end
  entries[#entries + 1] = {name = "pieces in stock",
    sql = "SELECT SUM(s_quantity) FROM stock",
    counters = {stock_pieces = 1, quantity = -1, refills = 91}}
  entries[#entries + 1] = {name = "values of O_ENTRY_D, OL_DELIVERY_D, H_DATE and H_DATA",
    unchecked = "nothing else that is stored says them"}
  return entries
end

-- What was loaded; `null` keeps no rows.
function columns.count_stock(con)
  if dyno.engine ~= "null" then
    local pieces = con:query_row("SELECT SUM(s_quantity) FROM stock")
    dyno.count("stock_pieces", tonumber(pieces))
  end
end

return columns
