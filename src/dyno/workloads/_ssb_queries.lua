-- The star schema benchmark's 13 queries, in four flights, with the values of the paper's third
-- revision. Every engine here reads the same text.

local ORDERED = "lo_orderdate = d_datekey"
local BOUGHT = "lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND " .. ORDERED

local function revenue(where)
  return "SELECT SUM(lo_extendedprice * lo_discount) AS revenue FROM lineorder, date WHERE "
    .. ORDERED .. " AND " .. where
end

local function by_brand(where)
  return "SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1 FROM lineorder, date, part, supplier "
    .. "WHERE " .. ORDERED .. " AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND " .. where
    .. " GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"
end

local function by_place(what, where)
  local places = ("c_%s, s_%s"):format(what, what)
  return "SELECT " .. places .. ", d_year, SUM(lo_revenue) AS revenue FROM customer, lineorder, "
    .. "supplier, date WHERE " .. BOUGHT .. " AND " .. where .. " GROUP BY " .. places
    .. ", d_year ORDER BY d_year ASC, revenue DESC"
end

local function profit(columns, where)
  return "SELECT " .. columns .. ", SUM(lo_revenue - lo_supplycost) AS profit FROM date, customer, "
    .. "supplier, part, lineorder WHERE " .. BOUGHT .. " AND lo_partkey = p_partkey AND " .. where
    .. " GROUP BY " .. columns .. " ORDER BY " .. columns
end

local YEARS = "d_year >= 1992 AND d_year <= 1997"
local CITIES = "(c_city = 'UNITED KI1' OR c_city = 'UNITED KI5') "
  .. "AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5')"
local AMERICA = "c_region = 'AMERICA' AND s_region = 'AMERICA'"
local TWO_YEARS = "(d_year = 1997 OR d_year = 1998)"
local TWO_MAKERS = "(p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')"

return {
  NAMES = {"1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "3.1", "3.2", "3.3", "3.4", "4.1", "4.2",
    "4.3"},
  revenue("d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25"),
  revenue("d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 "
    .. "AND lo_quantity BETWEEN 26 AND 35"),
  revenue("d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 "
    .. "AND lo_quantity BETWEEN 26 AND 35"),
  by_brand("p_category = 'MFGR#12' AND s_region = 'AMERICA'"),
  by_brand("p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'"),
  by_brand("p_brand1 = 'MFGR#2221' AND s_region = 'EUROPE'"),
  by_place("nation", "c_region = 'ASIA' AND s_region = 'ASIA' AND " .. YEARS),
  by_place("city", "c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND " .. YEARS),
  by_place("city", CITIES .. " AND " .. YEARS),
  by_place("city", CITIES .. " AND d_yearmonth = 'Dec1997'"),
  profit("d_year, c_nation", AMERICA .. " AND " .. TWO_MAKERS),
  profit("d_year, s_nation, p_category", AMERICA .. " AND " .. TWO_YEARS .. " AND " .. TWO_MAKERS),
  profit("d_year, s_city, p_brand1", "c_region = 'AMERICA' AND s_nation = 'UNITED STATES' AND "
    .. TWO_YEARS .. " AND p_category = 'MFGR#14'"),
}
