-- The insert benchmark's phases: load, index, write, write less, then queries beside inserts.

local words = require("_insert_words")

local phases = {INDEX_ROWS = 100} -- that l.x inserts before it creates the indexes

local MARGIN_PERCENT = 5 -- of the three primary metrics

local function insert_stream(run, batch)
  return {name = "insert", run = run, connections = sysbench.opt.clients, role = "writer",
    unit = "row", units_per_event = batch}
end

local function verdict(stream)
  return {{stream = stream, metric = "rate_per_s", margin_percent = MARGIN_PERCENT}}
end

-- `rows_per_s` is a laptop's guess, for the forecast before a run.
local function write_phase(name, title, stream, count, rows_per_s)
  return {name = name, title = title, streams = {stream}, expected_s = count / rows_per_s,
    stop = {kind = "count", events = math.ceil(count / stream.units_per_event)}}
end

local function index_phase(tables)
  local count = math.floor(sysbench.opt.load_rows / tables) + phases.INDEX_ROWS
  local stream = {name = "index", run = "index_table", connections = 1, role = "writer",
    unit = "row", units_per_event = count}
  return {name = "l.x", title = "create the indexes", streams = {stream},
    expected_s = count * tables / 300000,
    stop = {kind = "count", events = tables}}
end

local function query_phase(kind, rows_per_s)
  local opt = sysbench.opt
  local queries = {name = "query", run = "query_" .. kind, connections = opt.clients,
    unit = "query"}
  local inserts = insert_stream("write_rows", opt.write_batch)
  inserts.pace = {kind = opt.arrivals, rate_per_s = rows_per_s * opt.clients / opt.write_batch}
  return {name = "q" .. kind:sub(1, 1) .. rows_per_s, streams = {queries, inserts},
    title = ("%s queries beside %d inserts/s"):format(kind, rows_per_s),
    stop = {kind = "time", duration_s = opt.query_seconds}, stationary = true,
    expected_s = opt.query_seconds}
end

-- Each step of the benchmark, over so many tables.
function phases.all(tables)
  local opt = sysbench.opt
  local first = math.floor(opt.write_rows * 4 / 5)
  local list = {
    write_phase("l.i0", "load in key order", insert_stream("load_rows", opt.load_batch),
      opt.load_rows, 200000),
    index_phase(tables),
    write_phase("l.i1", "insert with indexes", insert_stream("write_rows", opt.write_batch),
      first, 50000),
    write_phase("l.i2", "insert in small batches",
      insert_stream("write_few_rows", opt.small_batch), opt.write_rows - first, 10000),
  }
  list[1].primary, list[3].primary = verdict("insert"), verdict("insert")
  for _, rate in ipairs(words(opt.query_rates)) do
    for _, kind in ipairs(words(opt.queries)) do
      list[#list + 1] = query_phase(kind, tonumber(rate))
    end
  end
  if list[5] then
    list[5].settle, list[5].primary = true, verdict("query")
  end
  return list
end

return phases
