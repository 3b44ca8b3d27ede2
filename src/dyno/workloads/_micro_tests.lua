-- The tests of the workload micro, each on sysbench's tables: what it is called, in which group it
-- is told, what one of its events plays. The names are those of M. Callaghan's reports on MySQL and
-- PostgreSQL ("Small Datum"); the statements are our own after his descriptions.

local statements = require("_oltp_statements")
local written = require("_oltp_written")

local tests = {}

local POINTS = 100 -- keys of an IN list
local MOST = 900 -- keys of the longest list: SQLite took 999 parameters up to 3.31
local HOT = 10 -- keys of the list that is the same each time
local RANGE = 100 -- rows of a range
local SORTED = 1000 -- rows of a range that is sorted or added up

local function id()
  return dyno.rand.default(1, sysbench.opt.table_size)
end

-- ---- statements: SQL (%d: the table's number), values to draw, values to explain it with --------

local function points(columns, key, count, draw)
  local marks = string.rep("?, ", count - 1) .. "?"
  return {
    sql = ("SELECT %s FROM sbtest%%d WHERE %s IN (%s)"):format(columns, key, marks),
    count = count, draw = draw or id, example = function(at) return at end, by_key = key == "id",
  }
end

-- What is computed of a range stands in capitals.
local function by_range(columns, key, size, rest)
  return {
    by_key = key == "id" and not rest and not columns:find("%u"),
    sql = ("SELECT %s FROM sbtest%%d WHERE %s BETWEEN ? AND ?%s"):format(columns, key, rest or ""),
    size = size, example = function(at) return at == 1 and 1 or size end,
  }
end

local POINT = {sql = "SELECT c FROM sbtest%d WHERE id=?", count = 1, draw = id, by_key = true,
  example = function() return 1 end}
local SCAN = {sql = "SELECT id, k, c, pad FROM sbtest%d WHERE LENGTH(c) < 0", count = 0,
  by_key = true}

-- The item that plays a statement on table `number`.
local function item_of(statement, con, number)
  local item = {con:prepare(statement.sql:format(number))}
  if statement.size then
    local from = id()
    item[2], item[3] = from, from + (statement.size - 1)
  end
  for at = 1, statement.count or 0 do
    item[at + 1] = statement.draw(at)
  end
  item.times = statement.times
  return item
end

local function times(count, statement)
  local copy = {times = count}
  for key, value in pairs(statement) do copy[key] = copy[key] or value end
  return copy
end

local function sorted_ranges(size)
  return {
    by_range("c", "id", size), by_range("SUM(k)", "id", size),
    by_range("c", "id", size, " ORDER BY c"), by_range("DISTINCT c", "id", size, " ORDER BY c"),
  }
end

-- sysbench's oltp_read_only with ranges of `size` rows.
local function read_only(size)
  return {times(10, POINT), unpack(sorted_ranges(size))}
end

-- ---- writes: builders of items ------------------------------------------------------------------

local function updates(set, where, ...)
  local given = {...}
  return function(con, number)
    local sql = ("UPDATE sbtest%d SET %s WHERE %s"):format(number, set, where)
    local item = {con:prepare(sql)}
    for at, draw in ipairs(given) do item[at + 1] = draw() end
    item.writes = set == "c=?" and written.writes(number, 2, {c = 1}) or nil
    return item
  end
end

local function c()
  return dyno.rand.string(statements.C)
end

local function same()
  return 1
end

local function zipfian()
  return dyno.rand.zipfian(1, sysbench.opt.table_size)
end

local function many(draw)
  local list = {}
  for at = 1, POINTS do list[at] = draw end
  return unpack(list)
end

local INLIST = "id IN (" .. string.rep("?, ", POINTS - 1) .. "?)"
local UPDATE_INDEX = updates("k=k+1", "id=?", id)
local UPDATE_NONINDEX = updates("c=?", "id=?", c, id)

local function of_kind(kind)
  return function(con, number) return statements.build(con, kind, number) end
end

local WRITE_ONLY = {UPDATE_INDEX, UPDATE_NONINDEX, of_kind("delete_inserts")}

-- ---- the tests ----------------------------------------------------------------------------------

local GROUPS = {point = "point queries", range = "range queries",
  sorted = "ranges sorted or added up", write = "writes"}

-- Those that are played before the writes and once more after them.
local TWICE = {
  {"point-query", "point", {POINT}},
  {"points-covered-pk", "point", {points("id", "id", POINTS)}},
  {"points-covered-si", "point", {points("k", "k", POINTS)}},
  {"points-notcovered-pk", "point", {points("c", "id", POINTS)}},
  {"points-notcovered-si", "point", {points("c", "k", POINTS)}},
  {"range-covered-pk", "range", {by_range("id", "id", RANGE)}},
  {"range-covered-si", "range", {by_range("k", "k", RANGE)}},
  {"range-notcovered-pk", "range", {by_range("c", "id", RANGE)}},
  {"range-notcovered-si", "range", {by_range("c", "k", RANGE)}},
  {"scan", "range", {SCAN}},
}
local WRITES = {
  {"update-inlist", {updates("k=k+1", INLIST, many(id))}},
  {"update-index", {UPDATE_INDEX}},
  {"update-nonindex", {UPDATE_NONINDEX}, texts = true},
  {"update-one", {updates("c=?", "id=?", c, same)}, texts = true},
  {"update-zipf", {updates("c=?", "id=?", c, zipfian)}, texts = true},
  {"write-only", WRITE_ONLY, whole = true},
  {"read-write.range10", WRITE_ONLY, whole = true, reads = read_only(10)},
  {"read-write.range100", WRITE_ONLY, whole = true, reads = read_only(100)},
  {"delete", {of_kind("delete_inserts")}, whole = true},
}
-- The last of all: the faster engine inserts more, and what follows would find a larger table.
local GROWS = {"insert", {of_kind("inserts")}, drifts = true}
local AFTER = {
  {"hot-points", "point", {points("c", "id", HOT, function(at) return at end)}},
  {"random-points.range10", "point", {points("id, k, c, pad", "id", 10)}},
  {"random-points.range100", "point", {points("id, k, c, pad", "id", 100)}},
  {"random-points.range900", "point", {points("id, k, c, pad", "id", MOST)}},
  {"read-only-simple", "range", {by_range("c", "id", SORTED)}},
  {"read-only-count", "sorted", {by_range("COUNT(c)", "id", SORTED)}},
  {"read-only-sum", "sorted", {by_range("SUM(k)", "id", SORTED)}},
  {"read-only-order", "sorted", {by_range("c", "id", SORTED, " ORDER BY c")}},
  {"read-only-distinct", "sorted", {by_range("DISTINCT c", "id", SORTED, " ORDER BY c")}},
  {"read-only.range10", "sorted", read_only(10), whole = true},
  {"read-only.range100", "sorted", read_only(100), whole = true},
  {"read-only.range1000", "sorted", read_only(1000), whole = true},
}

-- What a reader of a report is told instead of the name.
local TITLES = {
  ["point-query"] = "read a row by its key",
  ["points-covered-pk"] = "100 keys, from the primary key",
  ["points-covered-si"] = "100 keys, from an index",
  ["points-notcovered-pk"] = "100 rows by primary key",
  ["points-notcovered-si"] = "100 rows by an index",
  ["range-covered-pk"] = "a range, from the primary key",
  ["range-covered-si"] = "a range, from an index",
  ["range-notcovered-pk"] = "a range of rows by primary key",
  ["range-notcovered-si"] = "a range of rows by an index",
  ["scan"] = "scan a table",
  ["update-inlist"] = "update 100 rows",
  ["update-index"] = "update an indexed column",
  ["update-nonindex"] = "update a column without an index",
  ["update-one"] = "update one row by all users",
  ["update-zipf"] = "update popular rows",
  ["write-only"] = "write-only transactions",
  ["read-write.range10"] = "writes and ranges of 10",
  ["read-write.range100"] = "writes and ranges of 100",
  ["delete"] = "delete and insert a row",
  ["insert"] = "insert a row",
  ["hot-points"] = "the same 10 rows",
  ["random-points.range10"] = "10 random rows",
  ["random-points.range100"] = "100 random rows",
  ["random-points.range900"] = "900 random rows",
  ["read-only-simple"] = "a range of 1,000 rows",
  ["read-only-count"] = "count a range",
  ["read-only-sum"] = "add up a range",
  ["read-only-order"] = "sort a range",
  ["read-only-distinct"] = "distinct values of a range",
  ["read-only.range10"] = "reads and ranges of 10",
  ["read-only.range100"] = "reads and ranges of 100",
  ["read-only.range1000"] = "reads and ranges of 1,000",
}

-- `ending` is that of the name, `moment` (before or after the writes) that of the title.
local function reading(row, ending, moment)
  return {name = row[1] .. (ending or ""), title = TITLES[row[1]] .. (moment or ""),
    group = GROUPS[row[2]], reads = row[3], writes = {}, whole = row.whole}
end

local function writing(row)
  return {name = row[1], title = TITLES[row[1]], group = GROUPS.write,
    reads = row.reads or {}, writes = row[2], whole = row.whole, is_write = true,
    drifts = row.drifts, texts = row.texts}
end

-- All of them in the order in which they are played.
function tests.all()
  local list = {}
  for _, row in ipairs(TWICE) do list[#list + 1] = reading(row, ".pre", " (before)") end
  for _, row in ipairs(WRITES) do list[#list + 1] = writing(row) end
  for _, row in ipairs(TWICE) do list[#list + 1] = reading(row, ".post", " (after)") end
  for _, row in ipairs(AFTER) do list[#list + 1] = reading(row) end
  list[#list + 1] = writing(GROWS)
  return list
end

-- Does it need no index beside the table's key, and nothing sorted or added up?
function tests.is_by_key(test)
  for _, statement in ipairs(test.reads) do
    if not statement.by_key then return false end
  end
  return true
end

-- The ledger's entries for the texts that they write. Each that is a whole transaction deletes and
-- inserts.
function tests.written(list)
  local kinds = {}
  for _, test in ipairs(list) do
    kinds.non_index_updates = kinds.non_index_updates or test.texts
    kinds.delete_inserts = kinds.delete_inserts or test.is_write and test.whole
  end
  return written.entries(kinds)
end

-- What one event of a test plays on table `number`.
function tests.items(test, con, number)
  local list = {}
  for _, statement in ipairs(test.reads) do
    list[#list + 1] = item_of(statement, con, number)
  end
  for _, build in ipairs(test.writes) do
    list[#list + 1] = build(con, number)
  end
  return list
end

-- Each read once, with values that are always the same, as entries of `dyno.plans`.
function tests.plans(list)
  local entries, seen = {}, {}
  for _, test in ipairs(list) do
    for number, statement in ipairs(test.is_write and {} or test.reads) do
      if not seen[statement.sql] then
        local at = 0
        seen[statement.sql] = true
        entries[#entries + 1] = {
          name = test.name .. (#test.reads > 1 and " " .. number or ""),
          sql = statement.sql:format(1):gsub("%?", function()
            at = at + 1
            return tostring(statement.example(at))
          end),
        }
      end
    end
  end
  return entries
end

return tests
