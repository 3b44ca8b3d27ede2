-- The initial population (clause 4.3.3), in multi-row inserts: the same rows for the same seed,
-- warehouses, customers and items. All rows that count are counted for the ledger.

local random = require("_tpcc_random")
local schema = require("_tpcc_schema")

local population = {}

local DATE = "'2020-01-01 00:00:00'" -- of all that was there before the run
local UNDELIVERED = 0.3 -- of a district's first orders: 900 of 3000

local uniform, decimal, text = random.uniform, random.decimal, random.text
local format, string_of = string.format, sysbench.rand.string

-- Orders of a district that are delivered before the run: the first ones.
function population.delivered()
  local orders = sysbench.opt.customers
  return orders - math.floor(orders * UNDELIVERED)
end

-- Rows of one table, each a list of literals: `write` is given a function that takes one.
local function insert(con, head, write)
  con:bulk_insert_init("INSERT INTO " .. head .. " VALUES")
  write(function(form, ...)
    con:bulk_insert_next(format(form, ...))
  end)
  con:bulk_insert_done()
end

local function load_items(con)
  insert(con, "item", function(add)
    for id = 1, sysbench.opt.items do
      add("(%d,%d,'%s',%s,'%s')", id, uniform(1, 10000), text(14, 24), decimal(100, 10000, 2),
        random.data())
    end
  end)
end

local DISTS = "'" .. string.rep(string.rep("@", 24), 10, "','") .. "'"

local function load_stock(con, w)
  insert(con, "stock", function(add)
    for id = 1, sysbench.opt.items do
      add("(%d,%d,%d,%s,0,0,0,'%s')", id, w, uniform(10, 100), string_of(DISTS), random.data())
    end
  end)
end

local function load_customers(con, w, d)
  insert(con, "customer", function(add)
    for id = 1, sysbench.opt.customers do
      add("(%d,%d,%d,'%s','OE','%s',%s,'%s',%s,'%s',50000.00,%s,-10.00,10.00,1,0,'%s')",
        id, d, w, text(8, 16), random.loaded_last_name(id), random.address(),
        string_of("################"), DATE, random.percent(10) and "BC" or "GC",
        decimal(0, 5000, 4), text(300, 500))
    end
  end)
  insert(con, "history", function(add)
    for id = 1, sysbench.opt.customers do
      add("(%d,%d,%d,%d,%d,%s,10.00,'%s')", id, d, w, d, w, DATE, text(12, 24))
    end
  end)
end

-- Every customer once, in random order.
local function permutation(count)
  local order = {}
  for id = 1, count do
    local at = uniform(1, id)
    order[id] = order[at]
    order[at] = id
  end
  return order
end

local function load_orders(con, w, d)
  local customers, delivered = permutation(sysbench.opt.customers), population.delivered()
  local counts = {}
  insert(con, "orders", function(add)
    for id, customer in ipairs(customers) do
      counts[id] = uniform(5, 15)
      local carrier = id <= delivered and uniform(1, 10) or "NULL"
      add("(%d,%d,%d,%d,%s,%s,%d,1)", id, d, w, customer, DATE, carrier, counts[id])
    end
  end)
  insert(con, "new_orders", function(add)
    for id = delivered + 1, #customers do
      add("(%d,%d,%d)", id, d, w)
    end
  end)
  return counts
end

local function load_lines(con, w, d, counts)
  local delivered, undelivered = population.delivered(), schema.dates().loaded
  insert(con, "order_line", function(add)
    for id, count in ipairs(counts) do
      for number = 1, count do
        local is_delivered = id <= delivered
        add("(%d,%d,%d,%d,%d,%d,%s,5,%s,'%s')", id, d, w, number, uniform(1, sysbench.opt.items),
          w, is_delivered and DATE or undelivered,
          is_delivered and "0.00" or decimal(1, 999999, 2), string_of(("@"):rep(24)))
      end
      dyno.count("lines_loaded", count)
    end
  end)
end

local function load_districts(con, w)
  local customers = sysbench.opt.customers
  insert(con, "district", function(add)
    for d = 1, 10 do
      add("(%d,%d,'%s',%s,%s,%d.00,%d)", d, w, text(6, 10), random.address(),
        decimal(0, 2000, 4), 10 * customers, customers + 1)
    end
  end)
end

local function load_warehouse(con, w)
  local customers = sysbench.opt.customers
  con:query("BEGIN")
  insert(con, "warehouse", function(add)
    add("(%d,'%s',%s,%s,%d.00)", w, text(6, 10), random.address(), decimal(0, 2000, 4),
      100 * customers)
  end)
  load_districts(con, w)
  load_stock(con, w)
  for d = 1, 10 do
    load_customers(con, w, d)
    load_lines(con, w, d, load_orders(con, w, d))
  end
  con:query("COMMIT")
  dyno.count("warehouses", 1)
  dyno.count("districts", 10)
  dyno.count("customers", 10 * customers)
  dyno.count("stock", sysbench.opt.items)
  dyno.count("delivered_loaded", 10 * population.delivered())
end

function population.load(con)
  con:query("BEGIN")
  load_items(con)
  con:query("COMMIT")
  dyno.count("items", sysbench.opt.items)
  for w = 1, sysbench.opt.warehouses do
    load_warehouse(con, w)
  end
end

return population
