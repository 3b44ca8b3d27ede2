-- The insert benchmark's queries: prepared once, played beside the writers.

local sql = require("_insert_sql")
local client = require("_insert_client")

local queries = {}
local ranges, point, keys

local function prepared_range(range)
  local opt = sysbench.opt
  local statement = client.con:prepare(sql.range(client.table, range, opt.rows_per_query))
  local from = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(from)
  return {name = range.name, statement = statement, from = from, most = opt[range.domain] - 1}
end

-- Once; where a hint names an index (MySQL), not before l.x has made it.
function queries.prepare()
  if ranges then
    return
  end
  local all, count = {}, sysbench.opt.rows_per_query
  for i, range in ipairs(sql.RANGES) do
    all[i] = prepared_range(range)
  end
  point, keys = client.con:prepare(sql.point(client.table, count)), {}
  for i = 1, count do
    keys[i] = point:bind_create(sysbench.sql.type.INT)
  end
  point:bind_param(unpack(keys))
  ranges = all
end

-- The three range queries in turn, each from a random place on.
function queries.range()
  queries.prepare()
  client.events = client.events + 1
  local range = ranges[client.events % #ranges + 1]
  dyno.transaction(range.name)
  range.from:set(math.random(0, range.most))
  range.statement:execute()
end

-- Rows by random keys that were there a short while ago.
function queries.point()
  queries.prepare()
  client.count_event()
  local last = math.max(client.first, client.last) -- an empty table has no last row
  for _, key in ipairs(keys) do
    key:set(math.random(client.first, last))
  end
  point:execute()
end

return queries
