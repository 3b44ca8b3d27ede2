-- A request until its result set or its error: the driver says `false` to one that is not answered
-- yet, and `true` to one that failed, which `raw.failure` tells.
local raw, wait, result_of = ...
local sql = sysbench.sql
local type = type

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
   return result_of(reply)
end

return { raise = raise, slow = slow, finish = finish }
