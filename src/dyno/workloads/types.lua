-- UUIDs as keys: 32 or 36 characters, 16 bytes, or the engine's own type; random or in order of
-- time; as the table's key or in an index beside it. Rows are inserted, then looked up by the key
-- and by the index; then what table and indexes take on the disk. docs/guides/workloads/types.md.

local ids = require("_types_ids")
local owned = require("_owned_tables")
local count_sizes = require("_table_sizes")

local checks = require("_option_checks")
local one_of, whole = checks.one_of, checks.whole

sysbench.cmdline.options = {
  type = {"Column of the ids: char32, char36, binary16 or uuid", "char36", nil, one_of(ids.types)},
  order = {"random: UUIDs of version 4; time: of version 7, each a millisecond younger", "random",
    nil, one_of(ids.orders)},
  key = {"primary: the id is the table's key, and a number has an index; secondary: the other way "
    .. "round", "primary", nil, one_of({"primary", "secondary"})},
  rows = {"Rows to insert; a multiple of `batch`", 50000, nil, whole},
  batch = {"Rows of an INSERT", 50, nil, whole},
  time = {"Seconds to look up by the key, and again by the index", 2},
  warmup_time = {"Seconds of each to look up before measuring", 0.5},
  rand_type = {"Distribution of the rows looked up: uniform, gaussian, special, pareto or zipfian",
    "uniform"},
}

local opt = sysbench.opt
local NAME = "ids_by_type"
-- Of so many rows the ledger asks for one by its id and its number.
local EVERY = math.ceil(opt.rows / 100)
-- With its entry in the index, by the column's type, as MySQL and PostgreSQL keep them.
local ROW_BYTES = {char32 = 170, char36 = 180, binary16 = 120, uuid = 120}

if opt.rows % opt.batch ~= 0 then
  error(("rows: %d rows cannot be inserted %d at a time"):format(opt.rows, opt.batch), 0)
end

local BY_ID = opt.key == "primary"
local tables = owned("dyno_types", {{name = NAME, key = BY_ID and "id" or "n",
  columns = ("id %s NOT NULL, n INTEGER NOT NULL"):format(ids.column(opt.type)),
  indexes = {BY_ID and "n" or "id"}}})
local id_of = ids.writer(opt.type, opt.order)

local con, insert, by_id, by_number, turn

function prepare()
  local con = sysbench.sql.driver():connect()
  ids.check(con, opt.type)
  tables:create(con)
  for _, statement in ipairs(tables:indexes()) do
    con:query(statement)
  end
end

function cleanup()
  tables:drop(sysbench.sql.driver():connect())
end

-- A prepared statement and its cells, a text and a number in turn or one text.
local function prepared(sql, kinds)
  local statement, cells = con:prepare(sql), {}
  for at, kind in ipairs(kinds) do
    cells[at] = statement:bind_create(sysbench.sql.type[kind], kind == "VARCHAR" and 36 or nil)
  end
  statement:bind_param(unpack(cells))
  return {statement = statement, cells = cells}
end

function thread_init()
  con = sysbench.sql.driver():connect()
  local row, kinds = ("(%s, ?)"):format(ids.place(opt.type)), {}
  for at = 1, 2 * opt.batch, 2 do
    kinds[at], kinds[at + 1] = "VARCHAR", "INT"
  end
  insert = prepared(("INSERT INTO %s (id, n) VALUES %s%s"):format(NAME,
    (row .. ", "):rep(opt.batch - 1), row), kinds)
  by_id = prepared(("SELECT n FROM %s WHERE id = %s"):format(NAME, ids.place(opt.type)),
    {"VARCHAR"})
  by_number = prepared(("SELECT %s FROM %s WHERE n = ?"):format(ids.read(opt.type), NAME),
    {"INT"})
end

-- Users take the next rows in turn. What failed is tried again when the event begins anew.
function insert_rows()
  turn = turn or dyno.turn()
  local cells, first = insert.cells, turn * opt.batch
  for at = 1, opt.batch do
    cells[2 * at - 1]:set(id_of(first + at))
    cells[2 * at]:set(first + at)
  end
  dyno.count("inserted", insert.statement:execute().nrows)
  -- the sum of its numbers, and how many of its rows the ledger asks for by their values
  dyno.count("numbers", opt.batch * first + opt.batch * (opt.batch + 1) / 2)
  dyno.count("asked", math.floor((first + opt.batch) / EVERY) - math.floor(first / EVERY))
  turn = nil
end

-- Every row is there: a lookup that finds none, or two, is the engine's fault, or a wrong value was
-- stored. (null keeps no rows.)
local function find(lookup, value)
  lookup.cells[1]:set(value)
  local found = lookup.statement:execute().nrows
  if found ~= 1 and dyno.engine ~= "null" then
    error(("%s is in %d rows"):format(value, found))
  end
end

function find_id()
  find(by_id, id_of(sysbench.rand.default(1, opt.rows)))
end

function find_number()
  find(by_number, sysbench.rand.default(1, opt.rows))
end

function weigh_table()
  count_sizes(con, NAME)
end

-- `stop`: when it ends; `made`: its one stream, named as the phase.
local function phase(title, stop, made, more)
  made.connections = made.connections or opt.threads
  local phase = {name = made.name, title = title, streams = {made}, stop = stop}
  for key, value in pairs(more or {}) do
    phase[key] = value
  end
  return phase
end

local function primary(name)
  return {{stream = name, metric = "rate_per_s"}}
end

local function lookup(name, title, run, settle)
  local stop = opt.events > 0 and {kind = "count", events = opt.events}
    or {kind = "time", duration_s = opt.time}
  return phase(title, stop, {name = name, run = run}, {settle = settle, stationary = true,
    warmup_s = opt.warmup_time, primary = primary(name),
    expected_s = opt.warmup_time + (stop.duration_s or opt.events / 20000)})
end

function dyno.brief()
  return {rows = tostring(100 * opt.batch)}
end

function dyno.phases()
  if opt.rate > 0 then
    error("types plays as fast as it goes: rate has to be 0")
  end
  local id, number = "find_id", "find_number"
  return {
    phase("insert rows", {kind = "count", events = opt.rows / opt.batch},
      {name = "insert", run = "insert_rows", role = "writer", unit = "row",
        units_per_event = opt.batch},
      {primary = primary("insert"), expected_s = opt.rows / 50000}),
    lookup("by_key", "look up by the key", BY_ID and id or number, true),
    lookup("by_index", "look up by the index", BY_ID and number or id, false),
    phase("size on disk", {kind = "count", events = 1},
      {name = "size", run = "weigh_table", connections = 1}),
  }
end

local function rows_by_values()
  local rows = {}
  for n = EVERY, opt.rows, EVERY do
    local id = ids.place(opt.type):gsub("%?", "'" .. id_of(n) .. "'")
    rows[#rows + 1] = ("(n = %d AND id = %s)"):format(n, id)
  end
  return "SELECT COUNT(*) FROM " .. NAME .. " WHERE " .. table.concat(rows, " OR ")
end

function dyno.ledger()
  return {
    {name = "rows = inserted", sql = "SELECT COUNT(*) FROM " .. NAME, counters = {inserted = 1}},
    {name = "sum of n = inserted", sql = ("SELECT COALESCE(SUM(n), 0) FROM %s"):format(NAME),
      counters = {numbers = 1}},
    {name = "rows with their id and number", sql = rows_by_values(), counters = {asked = 1}},
  }
end

function dyno.size_bytes()
  return opt.rows * ROW_BYTES[opt.type]
end
