-- sysbench's OLTP statements: each kind is prepared on a connection and becomes a function that
-- plays it once. What they change is counted here until the event's end.

local statements = {}

local C = "###########" .. string.rep("-###########", 9) -- 119 bytes
local PAD = "###########" .. string.rep("-###########", 4) -- 59 bytes

local rand = sysbench.rand

-- What this user's statements changed and the driver does not know yet.
local pending = {}

local function count(name, rows)
  pending[name] = (pending[name] or 0) + rows
end

function statements.report_counts()
  for name, rows in pairs(pending) do
    dyno.count(name, rows)
    pending[name] = nil
  end
end

function statements.forget_counts()
  for name in pairs(pending) do
    pending[name] = nil
  end
end

local random = rand.default

-- LuaJIT compiles its own random numbers but no calls into the driver, which would be a quarter of
-- an event on null. Other distributions than uniform are sysbench's. To be called before the first
-- event, in `thread_init`.
function statements.seed()
  math.randomseed(rand.uniform(1, 2 ^ 31 - 1))
  random = sysbench.opt.rand_type == "uniform" and math.random or rand.default
end

function statements.random_id()
  return random(1, sysbench.opt.table_size)
end

function statements.random_pad()
  return rand.string(PAD)
end

function statements.random_c()
  return rand.string(C)
end

local random_id, random_c, random_pad =
  statements.random_id, statements.random_c, statements.random_pad

-- Rows that a statement reported as changed.
local function changed(answer)
  return answer and tonumber(answer.nrows) or 0
end

-- Builders: each prepares a statement on one connection and answers the function that plays it.

local INT, CHAR = sysbench.sql.type.INT, sysbench.sql.type.CHAR

local function by_id(con, sql)
  local statement = con:prepare(sql)
  local id = statement:bind_create(INT)
  statement:bind_param(id)
  return function(chosen)
    id:set(chosen or random_id())
    return statement:execute()
  end
end

local function by_range(con, sql)
  local statement = con:prepare(sql)
  local from, to = statement:bind_create(INT), statement:bind_create(INT)
  statement:bind_param(from, to)
  return function()
    local id = random_id()
    from:set(id)
    to:set(id + sysbench.opt.range_size - 1)
    statement:execute()
  end
end

local function index_update(con, sql)
  local play = by_id(con, sql)
  return function()
    count("updated", changed(play()))
  end
end

local function non_index_update(con, sql)
  local statement = con:prepare(sql)
  local c, id = statement:bind_create(CHAR, #C), statement:bind_create(INT)
  statement:bind_param(c, id)
  return function()
    c:set(random_c())
    id:set(random_id())
    statement:execute()
  end
end

local function delete(con, sql)
  local play = by_id(con, sql)
  return function(chosen)
    count("deleted", changed(play(chosen)))
  end
end

local function insert(con, sql)
  local statement = con:prepare(sql)
  local id, k = statement:bind_create(INT), statement:bind_create(INT)
  local c, pad = statement:bind_create(CHAR, #C), statement:bind_create(CHAR, #PAD)
  statement:bind_param(id, k, c, pad)
  return function(chosen)
    id:set(chosen)
    k:set(random_id())
    c:set(random_c())
    pad:set(random_pad())
    count("inserted", changed(statement:execute()))
  end
end

-- The same id comes back with a new k, so the table keeps its size.
local function delete_insert(con, delete_sql, insert_sql)
  local remove, add = delete(con, delete_sql), insert(con, insert_sql)
  return function()
    local id = random_id()
    remove(id)
    add(id)
  end
end

-- sysbench sends this one as text.
local function text_insert(con, sql, auto_sql)
  return function()
    local k, c, pad = random_id(), random_c(), random_pad()
    local statement = sysbench.opt.auto_inc and auto_sql:format(k, c, pad)
      or sql:format(rand.unique(), k, c, pad)
    local rows = changed(con:query(statement))
    count("inserted", rows)
    count("k_inserted", rows * k)
  end
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
  inserts = {text_insert,
    "INSERT INTO sbtest%d (id, k, c, pad) VALUES (%%d, %%d, '%%s', '%%s')",
    "INSERT INTO sbtest%d (k, c, pad) VALUES (%%d, '%%s', '%%s')"},
}

-- The function that plays `kind` once on table `number`.
function statements.build(con, kind, number)
  local sql = {}
  for i = 2, #KINDS[kind] do
    sql[i - 1] = KINDS[kind][i]:format(number)
  end
  return KINDS[kind][1](con, unpack(sql))
end

return statements
