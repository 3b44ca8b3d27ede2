-- sysbench.sql: drivers, connections, statements, bind cells and result sets over the driver's
-- sessions. A request answers a number (rows changed; below 0: columns and rows that nobody will
-- read), a string (packed rows), `false` (not yet answered) or `true` (an error, told by
-- `raw.failure`).
local raw, seat, wait = ...
local ffi = require("ffi")
local buffer = require("string.buffer")
local opt = sysbench.opt

local sql = sysbench.sql
sql.error = { NONE = 0, IGNORABLE = 1, FATAL = 2 }
sql.type = {
   NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
   TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}

local setmetatable, type, unpack, floor, ceil = setmetatable, type, unpack, math.floor, math.ceil

-- ---- result sets --------------------------------------------------------------------------------

-- Packed rows: columns, rows, the end of each field (all uint32), then the fields' bytes. The
-- string is the result set's own, so its rows outlive the next query, and nothing is unpacked
-- before somebody reads.
local HEADER = 8
local NULL = 0xffffffff
local words = ffi.typeof("const uint32_t *")

local result = {}
local lazy = {
   nfields = function(self) return ffi.cast(words, self[1])[0] end,
   nrows = function(self) return ffi.cast(words, self[1])[1] end,
}
local result_mt = {
   __index = function(self, key)
      return result[key] or (lazy[key] and lazy[key](self))
   end,
   __tostring = function() return "<sql_result>" end,
}

-- The next row as an array of strings, nil for NULL; nil after the last.
function result:fetch_row()
   local packed = self[1]
   if packed == nil then
      if self.nfields > 0 and self.nrows > 0 then
         error("these rows were not kept, because no text of the script says fetch_row", 2)
      end
      return nil
   end
   local head = ffi.cast(words, packed)
   local columns, at = head[0], self.at or 0
   if at >= columns * head[1] then
      return nil
   end
   local base = HEADER + 4 * columns * head[1]
   local start, row = self.start or 0, {}
   for column = 1, columns do
      local stop = head[2 + at]
      if stop ~= NULL then
         row[column] = packed:sub(base + start + 1, base + stop)
         start = stop
      end
      at = at + 1
   end
   self.at, self.start = at, start
   return row
end

function result:free()
   return true
end

local TWO_TO_THE_32 = 2 ^ 32

-- Answers without rows differ in few numbers only, so one object serves all that are alike.
local without_rows = setmetatable({}, {
   __index = function(known, reply)
      local rs = { nrows = reply, nfields = 0 }
      if reply < 0 then
         local counts = -reply - 1
         rs.nrows, rs.nfields = counts % TWO_TO_THE_32, floor(counts / TWO_TO_THE_32)
      end
      setmetatable(rs, result_mt)
      if rs.nrows < 1000 then
         known[reply] = rs
      end
      return rs
   end,
})

-- ---- connections --------------------------------------------------------------------------------

local connection = {}
connection.__index = connection
connection.__tostring = function() return "<sql_connection>" end

-- Throws what the engine said: to be caught as a restart, or as a text.
local function raise(con, query)
   local failure = raw.failure()
   con.error = failure.restartable and sql.error.IGNORABLE or sql.error.FATAL
   con.sql_errno, con.sql_state, con.sql_errmsg = failure.number, failure.state, failure.message
   local description = {
      connection = con, query = query, sql_errno = failure.number,
      sql_state = failure.state, sql_errmsg = failure.message,
   }
   local ignorable = sysbench.hooks.sql_error_ignorable
   if not failure.stops
      and (failure.restartable or type(ignorable) == "function" and ignorable(description))
   then
      description.errcode = sysbench.error.RESTART_EVENT
      error(description, 0)
   end
   error(raw.thrown(("SQL error, errno = %d, state = '%s': %s"):format(
      failure.number, failure.state, failure.message)), 0)
end

local function slow(con, reply, query)
   while reply == false do
      reply = wait()
   end
   if reply == true then
      raise(con, query)
   end
   return reply
end

local function finish(con, reply, query)
   if type(reply) == "boolean" then
      reply = slow(con, reply, query)
   end
   if type(reply) == "number" then
      return without_rows[reply]
   end
   return setmetatable({ reply }, result_mt)
end

-- Sends SQL as text. Returns a result set; throws what the engine said.
function connection:query(query)
   return finish(self, raw.query(self.number, query), query)
end

-- The fields of the first row, or nil.
function connection:query_row(query)
   raw.keep_next()
   local rs = self:query(query)
   local row = rs:fetch_row()
   if row == nil then
      return nil
   end
   return unpack(row, 1, rs.nfields)
end

function connection:disconnect()
   raw.disconnect(self.number)
   return true
end

function connection:reconnect()
   raw.reconnect(self.number)
   return true
end

-- Queues what is sent from here on; its answers come all together, to `pipeline_sync`.
function connection:pipeline_begin()
   raw.begin_batch(self.number)
   return true
end

-- Sends what was queued and waits for it: rows that came back, rows that were changed. Throws the
-- first error of all.
function connection:pipeline_sync()
   local reply = raw.sync(self.number)
   if type(reply) == "boolean" then
      reply = slow(self, reply, "")
   end
   return raw.batch_rows(), reply
end

-- Streams generated rows (`dyno.rows`) into a table by the engine's bulk command. Returns a result
-- set: its `nrows` is the number of rows loaded.
function connection:load(query, rows)
   return finish(self, raw.load(self.number, query, rows), query)
end

-- The sessions skip all results but one.
function connection:more_results() return false end
function connection:next_result() return nil end

-- Rows of a bulk insert are joined to statements of at most this many bytes, as sysbench does. A
-- row is copied into a buffer at once: ten thousands of strings kept alive until the statement is
-- made cost more than all else of an event.
local BULK_BYTES = 512 * 1024

function connection:bulk_insert_init(query)
   self.bulk = { head = query, text = buffer.new():put(query), comma = "" }
   return true
end

local function flush(con)
   local bulk = con.bulk
   if bulk.comma ~= "" then
      local query = bulk.text:tostring()
      bulk.text:reset():put(bulk.head)
      bulk.comma = ""
      con:query(query)
   end
end

function connection:bulk_insert_next(row)
   local bulk = self.bulk
   if bulk == nil then
      error("bulk_insert_next without bulk_insert_init", 2)
   end
   if #bulk.text + #row + 1 > BULK_BYTES then
      flush(self)
   end
   bulk.text:put(bulk.comma, row)
   bulk.comma = ","
   return true
end

function connection:bulk_insert_done()
   if self.bulk ~= nil then
      flush(self)
      self.bulk = nil
   end
   return true
end

-- ---- bind cells ---------------------------------------------------------------------------------

local param = {}
param.__index = param
param.__tostring = function() return "<sql_param>" end

local t = sql.type
local INTEGER, REAL, TEXT = 1, 2, 3
local kind_of_type = {
   [t.TINYINT] = INTEGER, [t.SMALLINT] = INTEGER, [t.INT] = INTEGER, [t.BIGINT] = INTEGER,
   [t.FLOAT] = REAL, [t.DOUBLE] = REAL,
   [t.TIME] = TEXT, [t.DATE] = TEXT, [t.DATETIME] = TEXT, [t.TIMESTAMP] = TEXT,
   [t.CHAR] = TEXT, [t.VARCHAR] = TEXT,
}

-- A double holds whole numbers up to here; beyond, digits travel as text.
local EXACT = 2 ^ 53

local function integer(value)
   if type(value) == "cdata" then
      local n = tonumber(value)
      if n > -EXACT and n < EXACT then
         return n
      end
      return (tostring(ffi.cast("int64_t", value)):gsub("LL$", ""))
   end
   local n = tonumber(value)
   if n == nil or n ~= n then
      error(("a number was expected, got %s %s"):format(type(value), tostring(value)), 3)
   end
   return n >= 0 and floor(n) or ceil(n)
end

-- Puts a value into the cell; it is sent by every later `execute` of the statements bound to it.
-- Whole-number cells take doubles (cut to whole) and int64 cdata; nil is NULL.
function param:set(value)
   local kind = self.kind
   if value == nil then
      self.value = nil
   elseif kind == INTEGER then
      if type(value) == "number" and value % 1 == 0 then
         self.value = value
      else
         self.value = integer(value)
      end
   elseif kind == REAL then
      self.value = tonumber(value)
   else
      value = tostring(value)
      self.value = self.max_len and #value > self.max_len and value:sub(1, self.max_len) or value
   end
end

-- Fills a text cell from a template: `#` is a digit, `@` a letter from a to z.
function param:set_rand_str(template)
   if self.kind ~= TEXT then
      error("set_rand_str needs a CHAR or VARCHAR cell", 2)
   end
   self:set(raw.rand_string(template))
end

-- ---- statements ---------------------------------------------------------------------------------

local CLOSED = 2 ^ 31
local statement = {}
statement.__index = statement
statement.__tostring = function() return "<sql_statement>" end

local function new_statement(con, query, number)
   return setmetatable(
      { connection = con, params = {}, count = 0, query = query, number = number }, statement)
end

function connection:prepare(query)
   if opt.db_ps_mode == "disable" then
      return self:unprepared(query)
   end
   local number = raw.prepare(self.number, query)
   if number == true then
      raise(self, query)
   end
   return new_statement(self, query, number)
end

-- A statement that is sent as text each time: every `?` becomes its value's literal.
function connection:unprepared(query)
   return new_statement(self, query, raw.text(self.number, query))
end

function raw.is_statement(value)
   return type(value) == "table" and getmetatable(value) == statement
end

-- A cell of a type; `max_len` cuts texts.
function statement:bind_create(btype, max_len)
   local kind = kind_of_type[btype]
   if kind == nil then
      error("unsupported type of a bind cell: " .. tostring(btype), 2)
   end
   return setmetatable({ type = btype, kind = kind, max_len = max_len }, param)
end

function statement:bind_param(...)
   self.count = select("#", ...)
   self.params = { ... }
   local kinds = {}
   for i, cell in ipairs(self.params) do
      kinds[i] = cell.kind
   end
   raw.bind(self.number, kinds)
   return true
end

local execute0, execute1, execute2 = raw.execute0, raw.execute1, raw.execute2
local execute4, execute_many = raw.execute4, raw.execute_many

-- Reads the bound cells and sends them with the statement. Returns a result set.
function statement:execute()
   local count, p, number, reply = self.count, self.params, self.number
   if count == 1 then
      reply = execute1(number, p[1].value)
   elseif count == 2 then
      reply = execute2(number, p[1].value, p[2].value)
   elseif count == 0 then
      reply = execute0(number)
   elseif count == 4 then
      reply = execute4(number, p[1].value, p[2].value, p[3].value, p[4].value)
   else
      local values = {}
      for i = 1, count do
         values[i] = p[i].value
      end
      reply = execute_many(number, unpack(values, 1, count))
   end
   return finish(self.connection, reply, self.query)
end

-- Frees it; executed later, it is refused.
function statement:close()
   if self.number ~= CLOSED then
      raw.close(self.number)
      self.number = CLOSED
   end
   return true
end

-- ---- drivers ------------------------------------------------------------------------------------

local driver = {}
driver.__index = driver
driver.__tostring = function() return "<sql_driver>" end

-- A new connection to the engine under test.
function driver:connect()
   return setmetatable({ number = raw.connect(), driver = self }, connection)
end

-- What a script for sysbench takes the engine for.
function driver:name()
   return self.sname
end

-- The driver of the engine under test, whatever name is asked for.
function sql.driver()
   local name = seat.dialect or opt.db_driver
   return setmetatable({ sname = name, lname = name }, driver)
end

return raise, finish, connection
