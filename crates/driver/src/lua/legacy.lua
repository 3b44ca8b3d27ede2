-- sysbench 0.5's words, which 1.0 still plays: one connection of a thread's own, made when it is
-- first needed; numbers of errors; `test`.
local raw, identity = ...

test = identity.path
mysql_table_engine = "innodb"
myisam_max_rows = 1000000

local driver, connection

local function connect()
   driver = driver or sysbench.sql.driver()
   db_driver = driver:name()
   connection = connection or driver:connect()
   return connection
end

local function connected()
   return connection or error("db_connect() was not called", 3)
end

local db = { DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2 }
sysbench.db = db

function db.connect()
   connect()
end

function db.disconnect()
   if connection then
      connection:disconnect()
      connection = nil
   end
end

function db.query(query)
   (connection or connect()):query(query)
end

function db.bulk_insert_init(query)
   connect():bulk_insert_init(query)
end

function db.bulk_insert_next(row)
   connected():bulk_insert_next(row)
end

function db.bulk_insert_done()
   connected():bulk_insert_done()
end

-- ---- prepared statements: their parameters are a table, read anew by each execution -----------

local type_of = { number = "INT", string = "VARCHAR" }

function db.prepare(query)
   return { statement = connect():prepare(query), cells = {} }
end

function db.bind_param(stmt, values)
   stmt.values, stmt.cells = values, {}
   for at, value in ipairs(values) do
      local kind = type_of[type(value)]
      if kind == nil then
         error("Unsupported variable type: " .. type(value), 2)
      end
      stmt.cells[at] = stmt.statement:bind_create(sysbench.sql.type[kind])
   end
   if #stmt.cells == 0 then
      error("db_bind_param: table is empty", 2)
   end
   stmt.statement:bind_param(unpack(stmt.cells))
end

function db.execute(stmt)
   for at, cell in ipairs(stmt.cells) do
      cell:set(stmt.values[at])
   end
   return stmt.statement:execute()
end

function db.close(stmt)
   stmt.statement:close()
end

-- In sysbench, too, these bring a script nothing to read.
function db.bind_result() end
function db.store_results() end
function db.free_results() end

for name, value in pairs(db) do
   _G[type(value) == "function" and "db_" .. name or name] = value
end
