-- What sysbench's drivers say of an error that they do not ignore, before the script hears of it:
-- for sysbench's own command line, whose output others parse.
local raw, identity = ...

-- Of a request that failed: what is said, by its driver and by what was asked of it.
local said = {
   mysql = {
      query = "mysql_drv_query() returned error %d (%s) for query '%s'",
      execute = "mysql_stmt_execute() returned error %d (%s) for query '%s'",
      prepare = 'mysql_stmt_prepare() failed\nFATAL: MySQL error: %d "%s"',
   },
   pgsql = {
      query = "PQexec() failed: 7 %s\nFATAL: failed query was: %s",
      execute = "PQexecPrepared() failed: 7 %s",
      prepare = "PQprepare() failed: %s\n",
   },
}

-- Says it; `asked`: query, execute or prepare.
function raw.say_fatal(failure, asked, query)
   local words = said[identity.dialect]
   if words == nil then
      return
   elseif identity.dialect == "mysql" then
      words = words[asked]:format(failure.number, failure.message, query)
   else
      words = words[asked]:format(asked == "prepare" and failure.report or failure.message, query)
   end
   io.stderr:write("FATAL: ", words, "\n")
end
