-- A request until its result set or its error: waiting for the answer while the thread's other
-- users play, the result set, and the error thrown.
local raw, identity = ...
local ffi = require("ffi")
local setmetatable, type, floor, sub = setmetatable, type, math.floor, string.sub
local new_table = require("table.new")

local co_yield, co_resume, co_create = coroutine.yield, coroutine.resume, coroutine.create

-- What is yielded while a request is under way. A script's own coroutines pass it on to the
-- driver's, so that a query may stand in an iterator made by `coroutine.wrap`.
local WAITING = raw.waiting

local function passed_on(co, ok, first, ...)
   if ok and first == WAITING then
      return passed_on(co, co_resume(co, co_yield(WAITING)))
   end
   return ok, first, ...
end

function coroutine.resume(co, ...)
   return passed_on(co, co_resume(co, ...))
end

local function or_throw(ok, ...)
   if not ok then
      error((...), 0)
   end
   return ...
end

function coroutine.wrap(body)
   local co = co_create(body)
   return function(...)
      return or_throw(passed_on(co, co_resume(co, ...)))
   end
end

-- What is known of the event under way: has it waited?
local under_way = { waited = false }

-- Returns the answer as the driver brings it: going to fetch it would cost another crossing.
local function wait()
   under_way.waited = true
   local ok, reply = pcall(co_yield, WAITING)
   if not ok then
      raw.drain()
      error("a query cannot wait for its answer while the script loads, or inside table.sort, "
         .. "a gsub callback or require", 5)
   end
   return reply
end

-- Lets the other users of the thread play for so long; false: it cannot here. A sleep does not
-- outlast its phase for long: it fails as a request does whose answer does not come.
local function pause(seconds)
   if raw.sleep(seconds) and not pcall(co_yield, WAITING) then
      return false
   end
   local problem = raw.given_up()
   if problem then
      error(raw.thrown(problem), 0)
   end
   return true
end

-- Lets the other users of the thread play for so long.
function dyno.sleep(seconds)
   if not pause(seconds) then
      error("a script cannot sleep while it loads, or inside table.sort, a gsub callback or "
         .. "require", 2)
   end
end

-- Makes this user's next event due so many seconds after the end of this one, or in `thread_init`
-- after the phase's start. A rest is in no latency.
function dyno.rest(seconds)
   if not (type(seconds) == "number" and seconds >= 0 and seconds < math.huge) then
      error(("dyno.rest takes seconds from 0 on, not %s"):format(tostring(seconds)), 2)
   end
   local refusal = raw.rest(seconds)
   if refusal then
      error(refusal, 2)
   end
   under_way.waited = true -- no event follows in its streak
end

-- ---- result sets ------------------------------------------------------------------------------

-- A request answers a number (rows changed; below 0: columns and rows that nobody will read) or a
-- string (packed rows).

-- A result set with rows: the packed rows, how many fields were fetched, the last one's end.
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

-- The words that packed rows begin with, and where their fields' bytes begin.
local function head_of(packed)
   local head = ffi.cast(words, packed)
   return head, HEADER + 4 * head[0] * head[1]
end

-- Field number `at` (from 0 on) of packed rows, nil for NULL, and its end; `start` is the end of
-- the one before.
local function field(packed, head, base, at, start)
   local stop = head[2 + at]
   if stop == NULL then
      return nil, start
   end
   return sub(packed, base + start + 1, base + stop), stop
end

-- The next row as an array of strings, nil for NULL; nil after the last.
function result:fetch_row()
   local packed = self[1]
   if packed == nil then
      if self.nfields > 0 and self.nrows > 0 then
         error("these rows were not kept, because the script does not contain fetch_row", 2)
      end
      return nil
   end
   local head, base = head_of(packed)
   local columns, at = head[0], self[2]
   if at >= columns * head[1] then
      return nil
   end
   local start, row = self[3], new_table(columns, 0)
   for column = 1, columns do
      row[column], start = field(packed, head, base, at, start)
      at = at + 1
   end
   self[2], self[3] = at, start
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

local function fields_from(packed, head, base, at, start)
   local value, stop = field(packed, head, base, at, start)
   if at + 1 == head[0] then
      return value
   end
   return value, fields_from(packed, head, base, at + 1, stop)
end

-- The fields of the first row of a request's answer, or nil. No result set is made for them.
local function first_row(reply)
   if type(reply) == "number" then
      return nil
   end
   local head, base = head_of(reply)
   if head[1] == 0 then
      return nil
   end
   return fields_from(reply, head, base, 0, 0)
end

-- The result set of a request's answer.
local function result_of(reply)
   if type(reply) == "number" then
      return without_rows[reply]
   end
   return setmetatable({ reply, 0, 0 }, result_mt)
end

-- ---- requests ---------------------------------------------------------------------------------

-- The driver says `false` to a request that is not answered yet, and `true` to one that failed,
-- which `raw.failure` tells.

local sql, opt = sysbench.sql, sysbench.opt

-- Where the option is given it says which of MySQL's errors let an event begin anew; else the
-- session does.
local function may_restart(failure)
   if identity.dialect ~= "mysql" or identity.options.mysql_ignore_errors == nil then
      return failure.restartable
   end
   for _, number in ipairs(opt.mysql_ignore_errors) do
      if number == "all" or tonumber(number) == failure.number then
         return true
      end
   end
   return false
end

-- What sysbench throws of an error: it does not tell why a statement could not be prepared.
local function text_of(failure, asked)
   if raw.say_fatal and asked == "prepare" then
      return "SQL API error"
   end
   return ("SQL error, errno = %d, state = '%s': %s"):format(failure.number, failure.state,
      failure.message)
end

-- Throws what the engine said: to be caught as a restart, or as a text. `sent` is the text of a
-- query, or the statement that was executed; `asked` tells of one that should be prepared.
local function raise(con, sent, asked)
   local query = sent
   if type(sent) == "table" then
      query, asked = sent.query, sent.asked
   end
   asked = asked or "query"
   local failure = raw.failure(query)
   local restartable = not failure.stops and may_restart(failure)
   if raw.say_fatal and not restartable then
      raw.say_fatal(failure, asked, query)
   end
   con.error = restartable and sql.error.IGNORABLE or sql.error.FATAL
   con.sql_errno, con.sql_state, con.sql_errmsg = failure.number, failure.state, failure.message
   con.sql_report, con.sql_changed = failure.report, failure.changed
   local description = {
      connection = con, query = query, sql_errno = failure.number,
      sql_state = failure.state, sql_errmsg = failure.message,
   }
   local ignorable = sysbench.hooks.sql_error_ignorable
   if not failure.stops
      and (restartable or type(ignorable) == "function" and ignorable(description))
   then
      description.errcode = sysbench.error.RESTART_EVENT
      error(description, 0)
   end
   error(raw.thrown(text_of(failure, asked)), 0)
end

local function slow(con, reply, sent)
   while reply == false do
      reply = wait()
   end
   if reply == true then
      raise(con, sent)
   end
   return reply
end

local function finish(con, reply, sent)
   if type(reply) == "boolean" then
      reply = slow(con, reply, sent)
   end
   return result_of(reply)
end

return {
   raise = raise, slow = slow, finish = finish, result_of = result_of, first_row = first_row,
   wait = wait, pause = pause, WAITING = WAITING, under_way = under_way,
}
