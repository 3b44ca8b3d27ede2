-- sysbench.sql: the driver of the engine under test, and connections to it.
local raw, identity, requests = ...
local opt = sysbench.opt
local setmetatable, type = setmetatable, type
local finish, slow = requests.finish, requests.slow
local result_of, first_row = requests.result_of, requests.first_row

local connection = {}
connection.__index = connection
connection.__tostring = function() return "<sql_connection>" end

-- Sends SQL as text. Returns a result set; throws what the engine said.
function connection:query(query)
   return finish(self, raw.query(self.number, query), query)
end

-- The fields of the first row, or nil.
function connection:query_row(query)
   local reply = raw.query_row(self.number, query)
   if type(reply) == "boolean" then
      reply = slow(self, reply, query)
   end
   return first_row(reply)
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

-- Sends what was queued so far and waits for nothing: its answers come with `pipeline_sync`. What
-- follows it is queued on, and is played whether this fails or not.
function connection:pipeline_flush()
   raw.flush_batch(self.number)
   return true
end

-- Sends what was queued and waits for it: rows that came back, rows that were changed. Throws the
-- first error of all; `sql_changed` of the connection is then what the others changed all the same.
function connection:pipeline_sync()
   local reply = raw.sync(self.number, false)
   if type(reply) == "boolean" then
      reply = slow(self, reply, "")
   end
   return raw.rows_brought(), reply
end

-- Sends what was queued and waits for it: the result set of each request, in the order in which
-- they were queued. Throws as `pipeline_sync` does.
function connection:pipeline_results()
   local reply = raw.sync(self.number, true)
   if type(reply) == "boolean" then
      slow(self, reply, "")
   end
   local results, count = {}, 0
   reply = raw.batch_result(self.number)
   while reply ~= nil do
      count = count + 1
      results[count] = result_of(reply)
      reply = raw.batch_result(self.number)
   end
   return results
end

-- Streams generated rows (`dyno.rows`) into a table by the engine's bulk command. Returns a result
-- set: its `nrows` is the number of rows loaded.
function connection:load(query, rows)
   return finish(self, raw.load(self.number, query, rows), query)
end

-- Has the last answer further results? Only MySQL's engines hand out more than one.
function connection:more_results()
   return raw.more_results(self.number)
end

-- The next result of the last answer: a result set; nil where it has no columns, or there is none.
function connection:next_result()
   local reply = raw.next_result(self.number)
   if reply == nil or type(reply) == "number" and reply >= 0 then
      return nil
   end
   return result_of(reply)
end

-- What an engine without a dialect of its own may be taken for.
local ANY = { mysql = true, pgsql = true }

local driver = {}
driver.__index = driver
driver.__tostring = function() return "<sql_driver>" end

-- A new connection to the engine under test. One that is refused is an error that a script may
-- catch; where it does not, the trial ends.
function driver:connect()
   local number = raw.connect()
   if type(number) == "string" then
      error(number, 0)
   end
   return setmetatable({ number = number, driver = self }, connection)
end

-- What a script for sysbench takes the engine for.
function driver:name()
   return self.sname
end

-- The driver of the engine under test. One that is asked for by name must be that.
function sysbench.sql.driver(wanted)
   local name = identity.dialect or opt.db_driver
   if wanted ~= nil and wanted ~= name and (identity.dialect or not ANY[wanted]) then
      error(("failed to initialize the DB driver: the engine under test speaks %s, not %s"):format(
         name, tostring(wanted)), 2)
   end
   name = wanted or name
   return setmetatable({ sname = name, lname = name }, driver)
end

return connection
