-- The insert benchmark's tables, indexes and statements as SQL text, in the engine's dialect.

local dialect_of = require("_dialect")

local sql = {}

sql.INDEXES = {
  {name = "marketsegment", columns = "productid, customerid, price"},
  {name = "registersegment", columns = "cashregisterid, customerid, price"},
  {name = "pdc", columns = "price, dateandtime, customerid"},
}

-- The original's three range queries: each reads one index alone, from a value of its first column
-- on; `domain` is the option that bounds that value. Register's comparison is strict there too.
sql.RANGES = {
  {name = "market", index = sql.INDEXES[1], above = "productid >= ?", domain = "products"},
  {name = "register", index = sql.INDEXES[2], above = "cashregisterid > ?",
    domain = "cashregisters"},
  {name = "pdc", index = sql.INDEXES[3], above = "price >= ?", domain = "max_price"},
}

local KEY = {
  sqlite = "integer primary key",
  duckdb = "bigserial primary key",
  mysql = "bigint not null auto_increment primary key",
  pgsql = "bigserial primary key",
}
local DATE = {sqlite = "datetime", duckdb = "timestamp", mysql = "datetime",
  pgsql = "timestamp without time zone"}
local USE_INDEX = {sqlite = " indexed by %s_%s", mysql = " force index (%s_%s)"}

local function dialect()
  return dialect_of(KEY)
end

function sql.create_table(name)
  local create = string.format([[create table %s (
    transactionid %s,
    dateandtime %s,
    cashregisterid int not null,
    customerid int not null,
    productid int not null,
    price int not null,
    data varchar(4000))]], name, KEY[dialect()], DATE[dialect()])
  local cache = "alter sequence " .. name .. "_transactionid_seq cache 1000"
  return dialect() == "pgsql" and {create, cache} or {create}
end

-- On MySQL one pass over the table makes all three, as the original does on InnoDB.
function sql.create_indexes(name)
  local creates, adds = {}, {}
  for i, index in ipairs(sql.INDEXES) do
    local full = name .. "_" .. index.name
    creates[i] = string.format("create index %s on %s (%s)", full, name, index.columns)
    adds[i] = string.format("add index %s (%s)", full, index.columns)
  end
  return dialect() == "mysql" and {"alter table " .. name .. " " .. table.concat(adds, ", ")}
    or creates
end

function sql.insert_into(name)
  return "insert into " .. name ..
    " (dateandtime,cashregisterid,customerid,productid,price,data) values "
end

-- The subselect is the original's form for PostgreSQL; SQLite knows DELETE … LIMIT only in builds
-- with an extra flag. `first` keeps the search from beginning among rows long dead.
function sql.delete(name, first, rows)
  local from = " from " .. name
  local oldest = string.format(" where transactionid >= %d order by transactionid asc limit %d",
    first, rows)
  return dialect() == "mysql" and "delete" .. from .. oldest
    or "delete" .. from .. " where transactionid in (select transactionid" .. from .. oldest .. ")"
end

-- MySQL is told which index to use, as in the original; the others' planners find it.
function sql.range(name, range, rows)
  local hint = dialect() == "mysql" and USE_INDEX.mysql:format(name, range.index.name) or ""
  return string.format("select %s from %s%s where %s order by %s limit %d", range.index.columns,
    name, hint, range.above, range.index.columns, rows)
end

function sql.point(name, rows)
  return "select transactionid, productid, data from " .. name ..
    " where transactionid in (" .. string.rep("?", rows, ",") .. ")"
end

-- `which` is min or max.
function sql.end_of_keys(name, which)
  return "select " .. which .. "(transactionid) from " .. name
end

-- How many rows over all tables hold values such as `_insert_rows` makes.
function sql.count_valid(names, opt)
  local form = "(select count(*) from %s where cashregisterid between 0 and %d and " ..
    "customerid between 0 and %d and productid between 0 and %d and price between 0 and %d and " ..
    "length(data) between %d and %d and dateandtime is not null)"
  local counts = {}
  for i, name in ipairs(names) do
    counts[i] = form:format(name, opt.cashregisters - 1, opt.customers - 1, opt.products - 1,
      opt.max_price - 1, opt.data_length_min, opt.data_length_max)
  end
  return "select " .. table.concat(counts, " + ")
end

-- One number over all tables: their rows, or an index's entries; nil where the engine cannot be
-- told to read that index. The condition holds for all rows: without one, MySQL 8.0 counts by the
-- primary key whatever the hint says.
function sql.count(names, index)
  local form = USE_INDEX[dialect()]
  if index and not form then
    return nil
  end
  local all = index and " where " .. index.columns:match("%w+") .. " >= 0" or ""
  local counts = {}
  for i, name in ipairs(names) do
    local hint = index and form:format(name, index.name) or ""
    counts[i] = "(select count(*) from " .. name .. hint .. all .. ")"
  end
  return "select " .. table.concat(counts, " + ")
end

return sql
