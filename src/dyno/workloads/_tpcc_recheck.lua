-- Customers and orders that were chosen while the run was played, chosen again afterwards by other
-- SQL: names and orders' customers never change. A user keeps its latest ones, which costs a run
-- nothing.

local recheck = {}

local KEPT = 8 -- of each kind and user

local customers, orders = {}, {}

local function keep(list, chosen)
  list.count = (list.count or 0) + 1
  list[list.count % KEPT + 1] = chosen
end

-- The customer `c` of a district was taken for the middle one of a last name.
function recheck.keep_customer(w, d, last, c)
  keep(customers, {w, d, c, last})
end

-- The order was taken for one of customer `c`'s.
function recheck.keep_order(w, d, c, order)
  keep(orders, {w, d, order, c})
end

-- How many are called so, and how many of them come no later than the chosen one.
local MIDDLE = [[SELECT COUNT(*), SUM(CASE WHEN them.c_first <= own.c_first THEN 1 ELSE 0 END)
  FROM customer own JOIN customer them ON them.c_w_id = own.c_w_id AND them.c_d_id = own.c_d_id
  AND them.c_last = own.c_last
  WHERE own.c_w_id = %d AND own.c_d_id = %d AND own.c_id = %d AND own.c_last = '%s']]
local OWNED = [[SELECT COUNT(*) FROM orders
  WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d AND o_c_id = %d]]

local function is_middle(con, chosen)
  local count, place = con:query_row(MIDDLE:format(unpack(chosen)))
  return tonumber(count) > 0 and tonumber(place) == math.ceil(tonumber(count) / 2)
end

local function is_owned(con, chosen)
  return tonumber((con:query_row(OWNED:format(unpack(chosen))))) == 1
end

local function count_wrong(con, list, is_right, name)
  local wrong = 0
  for _, chosen in ipairs(list) do
    wrong = wrong + (is_right(con, chosen) and 0 or 1)
  end
  dyno.count(name, wrong)
end

-- Counts the wrong ones, for the ledger; asks nothing of `null`, which keeps no rows.
function recheck.report(con)
  if dyno.engine ~= "null" then
    count_wrong(con, customers, is_middle, "wrong_customers")
    count_wrong(con, orders, is_owned, "wrong_orders")
  end
end

return recheck
