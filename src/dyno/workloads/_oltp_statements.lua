-- sysbench's OLTP statements, each as an item of a declared event (`dyno.event`).

local written = require("_oltp_written")

local statements = {}

statements.C = "###########" .. string.rep("-###########", 9) -- 119 bytes
statements.PAD = "###########" .. string.rep("-###########", 4) -- 59 bytes

local function id()
  return dyno.rand.default(1, sysbench.opt.table_size)
end

local function c()
  return dyno.rand.string(statements.C)
end

local function pad()
  return dyno.rand.string(statements.PAD)
end

-- Builders: each prepares statements of a table on one connection and answers the item that plays
-- them.

local function by_id(con, _, sql)
  return {con:prepare(sql), id()}
end

local function by_range(con, _, sql)
  local from = id()
  return {con:prepare(sql), from, from + (sysbench.opt.range_size - 1)}
end

local function index_update(con, _, sql)
  return {con:prepare(sql), id(), counts = {updated = 1}}
end

local function non_index_update(con, number, sql)
  return {con:prepare(sql), c(), id(), writes = written.writes(number, 2, {c = 1})}
end

local function delete(con, _, sql)
  return {con:prepare(sql), id(), counts = {deleted = 1}}
end

-- The same id comes back with a new k, so the table keeps its size.
local function delete_insert(con, number, delete_sql, insert_sql)
  local same = id()
  return {
    {con:prepare(delete_sql), same, counts = {deleted = 1}},
    {con:prepare(insert_sql), same, id(), c(), pad(), counts = {inserted = 1},
      writes = written.writes(number, 1, {c = 3, pad = 4})},
  }
end

-- sysbench sends this one as text.
local function text_insert(con, _, sql, auto_sql)
  local k = id()
  local counts = {inserted = 1, k_inserted = k}
  if sysbench.opt.auto_inc then
    return {con:unprepared(auto_sql), k, c(), pad(), counts = counts}
  end
  return {con:unprepared(sql), dyno.rand.unique(), k, c(), pad(), counts = counts}
end

-- Kind of statement -> its builder and its SQL, in which %d stands for the table's number. An
-- option of the kind's name says how often an event plays it; a kind without one is played once.
local KINDS = {
  point_selects = {by_id, "SELECT c FROM sbtest%d WHERE id=?"},
  simple_ranges = {by_range, "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?"},
  sum_ranges = {by_range, "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?"},
  order_ranges = {by_range, "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c"},
  distinct_ranges = {by_range,
    "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c"},
  index_updates = {index_update, "UPDATE sbtest%d SET k=k+1 WHERE id=?"},
  non_index_updates = {non_index_update, "UPDATE sbtest%d SET c=? WHERE id=?"},
  deletes = {delete, "DELETE FROM sbtest%d WHERE id=?"},
  delete_inserts = {delete_insert, "DELETE FROM sbtest%d WHERE id=?",
    "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)"},
  inserts = {text_insert, "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)",
    "INSERT INTO sbtest%d (k, c, pad) VALUES (?, ?, ?)"},
}

-- What each execution changes where nobody deletes rows: the ids that are drawn are all there.
local CHANGES = {index_updates = 1, non_index_updates = 1, inserts = 1}

-- The item that plays `kind` on table `number` as often as its option says. `all_there`: nobody
-- deletes rows.
function statements.build(con, kind, number, all_there)
  local sql = {}
  for i = 2, #KINDS[kind] do
    sql[i - 1] = KINDS[kind][i]:format(number)
  end
  local item = KINDS[kind][1](con, number, unpack(sql))
  item.times = sysbench.opt[kind] or 1
  item.changes = all_there and CHANGES[kind] or nil
  return item
end

return statements
