-- The initial population (clause 4.3.3): rows that the driver makes, loaded by the engine's bulk
-- command, a transaction for the items and for each warehouse. The same seed, customers and items
-- give a warehouse the same rows. All rows that count are counted for the ledger.

local bulk_load = require("_bulk_load")
local random = require("_tpcc_random")
local schema = require("_tpcc_schema")

local population = {}

local UNDELIVERED = 0.3 -- of a district's first orders: 900 of 3000
local DISTRICTS = 10

-- Orders of a district that are delivered before the run: the first ones.
function population.delivered()
  local orders = sysbench.opt.customers
  return orders - math.floor(orders * UNDELIVERED)
end

-- Loads a table's rows of a warehouse, of which there must be so many, where that is known.
local function load_rows(con, name, seed, warehouse, expected)
  local opt = sysbench.opt
  local loaded = bulk_load(con, name, dyno.rows.tpcc{table = name, seed = seed, first = warehouse,
    items = opt.items, customers = opt.customers, delivered = population.delivered(),
    last_names = random.names(), c_last = random.C_LAST_OF_LOAD,
    undelivered = schema.dates().loaded})
  if expected and loaded ~= expected then
    error(("%s: %d rows were sent, and the engine took %d"):format(name, expected, loaded), 0)
  end
  return loaded
end

-- In the order that foreign keys ask for.
local function load_warehouse(con, seed, w)
  local items, customers = sysbench.opt.items, DISTRICTS * sysbench.opt.customers
  local delivered = DISTRICTS * population.delivered()
  con:query("BEGIN")
  load_rows(con, "warehouse", seed, w, 1)
  load_rows(con, "district", seed, w, DISTRICTS)
  load_rows(con, "stock", seed, w, items)
  load_rows(con, "customer", seed, w, customers)
  load_rows(con, "history", seed, w, customers)
  load_rows(con, "orders", seed, w, customers)
  load_rows(con, "new_orders", seed, w, customers - delivered)
  local lines = load_rows(con, "order_line", seed, w)
  con:query("COMMIT")
  dyno.count("warehouses", 1)
  dyno.count("districts", DISTRICTS)
  dyno.count("customers", customers)
  dyno.count("stock", items)
  dyno.count("delivered_loaded", delivered)
  dyno.count("lines_loaded", lines)
end

function population.load(con)
  local seed = random.uniform(0, 2 ^ 31 - 1)
  dyno.count("items", load_rows(con, "item", seed, 1, sysbench.opt.items))
  for w = 1, sysbench.opt.warehouses do
    load_warehouse(con, seed, w)
  end
end

return population
