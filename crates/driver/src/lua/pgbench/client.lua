-- A client of `dyno pgbench`: what pgbench does around each transaction, which its own loop would:
-- retries, what is skipped because it is late, clients that abort, and what is told of all that.
local raw, identity, user = ...

local client, number = {}, identity.number
local INT, DOUBLE = sysbench.cmdline.ARG_INT, sysbench.cmdline.ARG_DOUBLE

client.options = {
   board = { "The file that the clients count in", "" },
   transactions = { "Transactions of each client; 0: without end", 0, INT },
   max_tries = { "Tries of a transaction that the server would not serialise; 0: any", 1, INT },
   latency_limit_us = { "Transactions that are later are skipped or counted; 0: none", 0, DOUBLE },
   connect = { "Connect anew for each transaction", false },
   timed = { "Latencies are wanted", false },
   log_part = { "The file of this client's transactions, but for its number", "" },
   sampling_rate = { "The share of transactions that is logged; 0: all", 0, DOUBLE },
   failures_detailed = { "The log tells failures apart", false },
   report_commands = { "Time each command", false },
   continue_on_error = { "A statement that fails costs its transaction, not the client", false },
   verbose_errors = { "Show every error", false },
   debugging = { "Show what is sent", false },
   shell_output = { "The file descriptor that programs write to", 2, INT },
}

local function tell(message, ...)
   io.stderr:write("pgbench: ", message:format(...), "\n")
end
client.tell = tell

-- ---- the log: a file for each client, put together when all have ended --------------------

local log

local function open_log(path)
   log = assert(io.open(("%s.%d"):format(path, number), "w"))
   log:setvbuf("full", 65536)
end

-- Columns of a script in the file that is counted in, and of a command behind those of failures.
-- script/pgbench/client.rs has the others, and src/dyno/compat/pgbench/play.py all.
local DONE, SKIPPED, SERIALIZATION, DEADLOCK, OTHER = 0, 1, 2, 3, 4
local FAILURES, REPEATS = 2, 3
local CONNECT_US, CONNECTS, ABORTED = 0, 1, 2

-- Which are logged is drawn apart, so that the log changes no number of a script's.
local sample = number * 7919 + 1

local function is_sampled(rate)
   sample = (sample * 1103515245 + 12345) % 2 ^ 31
   return rate == 0 or sample / 2 ^ 31 < rate
end

local function write_log(script, shown, lag_us, tries)
   local opt = sysbench.opt
   if not is_sampled(opt.sampling_rate) then
      return
   end
   local epoch_us = raw.epoch_us()
   log:write(("%d %d %s %d %d %06d"):format(number, raw.ended_transactions(), shown, script.number,
      math.floor(epoch_us / 1e6), math.floor(epoch_us % 1e6)))
   if opt.rate > 0 then
      log:write((" %.0f"):format(lag_us))
   end
   if opt.max_tries ~= 1 then
      log:write((" %d"):format(tries - 1))
   end
   log:write("\n")
end

-- ---- how a transaction ends --------------------

local WORDS = { [SKIPPED] = "skipped", [SERIALIZATION] = "serialization",
   [DEADLOCK] = "deadlock", [OTHER] = "other" }

-- What the log says in the place of a latency.
local function word_of(column)
   if column == SKIPPED or sysbench.opt.failures_detailed then
      return WORDS[column]
   end
   return "failed"
end

local function ended(script, column, tries)
   local begun_us, due_us = raw.transaction_times()
   local latency_us = raw.end_transaction(script.number, column, tries)
   if log then
      write_log(script, latency_us and ("%.0f"):format(latency_us) or word_of(column),
         begun_us - due_us, tries)
   end
end

-- The client plays no more; false ends its stream.
local function abort(message, ...)
   if message then
      tell("error: client %d " .. message, number, ...)
   end
   raw.add_to_client(ABORTED, 1)
   raw.end_client()
   if user.con then
      user.con:disconnect()
   end
   if sysbench.opt.exit_on_abort then
      raw.fail("a client aborted", "")
   end
   return false
end

local STATES = { ["40001"] = SERIALIZATION, ["40P01"] = DEADLOCK }
local EVALUATED = { set = true, ["if"] = true, elif = true }

-- The column in which an error is counted; nil: it ends the client, and was told.
local function column_of(problem, script)
   local con, _, at, name = user.con, raw.place_of_script()
   at = at - 1
   if con.sql_report == nil then
      if name == "SQL" or name:find("pipeline$") then
         tell("error: client %d aborted in command %d (%s) of script %d; %s", number, at, name,
            script.number, problem)
      else
         tell("error: %s", problem)
         tell("error: client %d aborted in command %d (%s) of script %d; %s of meta-command failed",
            number, at, name, script.number, EVALUATED[name] and "evaluation" or "execution")
      end
      return nil
   end
   if con.sql_report:find("^COPY ") then
      tell("error: COPY is not supported in pgbench, aborting")
   end
   local column = STATES[con.sql_state]
   if column or sysbench.opt.continue_on_error and not con.sql_state:find("^08") then
      if sysbench.opt.verbose_errors then
         tell("client %d got an error in command %d (SQL) of script %d; %s\n", number, at,
            script.number, con.sql_report)
      end
      return column or OTHER
   end
   tell("error: client %d script %d aborted in command %d query 0: %s\n", number, script.number, at,
      con.sql_report)
   return nil
end

-- May a transaction be tried once more?
local function may_repeat(column, tries, due_us)
   local opt = sysbench.opt
   if column == OTHER or opt.max_tries > 0 and tries >= opt.max_tries then
      return false
   end
   local now_us = raw.now_us()
   return not (opt.latency_limit_us > 0 and now_us - due_us > opt.latency_limit_us)
      and not (opt.events == 0 and now_us > client.end_us)
end

local function tell_end_of_try(is_again, tries, due_us)
   local opt = sysbench.opt
   if not opt.verbose_errors then
      return
   end
   local of = opt.max_tries > 0 and ("/%d"):format(opt.max_tries) or ""
   local share = opt.latency_limit_us > 0 and (", %.3f%% of the maximum time of tries was used")
      :format(100 * (raw.now_us() - due_us) / opt.latency_limit_us) or ""
   tell("client %d %s (try %d%s%s)\n", number, is_again
      and "repeats the transaction after the error" or "ends the failed transaction", tries, of,
      share)
end

-- ---- a transaction --------------------

-- Plays a script until it has ended well, or may not be tried again. With another try come the
-- same random numbers.
local function transact(script)
   local tries = 1
   local _, due_us = raw.transaction_times()
   while true do
      user.con.sql_report = nil
      local is_good, problem = pcall(user.play, script.program)
      if is_good then
         ended(script, DONE, tries)
         if raw.in_transaction(user.con.number) then
            return abort("aborted: end of script reached without completing the last transaction")
         end
         return
      end
      local column = column_of(problem, script)
      if column == nil then
         return abort()
      end
      raw.reset()
      local is_again = may_repeat(column, tries, due_us)
      tell_end_of_try(is_again, tries, due_us)
      raw.add_to_command(is_again and REPEATS or FAILURES)
      if not is_again then
         return ended(script, column, tries)
      end
      tries = tries + 1
      raw.rewind_draws()
   end
end

local function connect()
   local began_us = raw.now_us()
   if user.con then
      user.con:disconnect()
   end
   user.con = sysbench.sql.driver():connect()
   for _, statement in ipairs(user.all_statements) do
      statement.forget()
   end
   raw.add_to_client(CONNECT_US, raw.now_us() - began_us)
   raw.add_to_client(CONNECTS, 1)
end

-- What of the command line is about a transaction that the driver does not know of.
local function list_watched()
   local opt, list = sysbench.opt, {}
   list[#list + 1] = opt.connect and "--connect" or nil
   list[#list + 1] = opt.log_part ~= "" and "--log" or nil
   list[#list + 1] = opt.debugging and "--debug" or nil
   list[#list + 1] = opt.rate > 0 and opt.latency_limit_us > 0 and "--rate with --latency-limit"
      or nil
   return list
end

-- The function that plays a client's next transaction, or goes on with one that the driver has
-- handed over.
function client.player(list)
   local watched = list_watched()
   for _, each in ipairs(watched) do
      table.insert(user.in_lua, each)
   end
   client.is_watched = #watched > 0
   return function()
      local opt, drawn = sysbench.opt, raw.draw_script()
      if drawn == nil then
         return false
      end
      local script = list[drawn + 1]
      user.file = script.file
      if not client.is_watched then
         return transact(script)
      end
      local begun_us, due_us = raw.transaction_times()
      if opt.rate > 0 and opt.latency_limit_us > 0 and begun_us - due_us > opt.latency_limit_us then
         return ended(script, SKIPPED, 1)
      end
      if opt.connect then
         connect()
         raw.begin_transaction_now()
      end
      if opt.debugging then
         tell('client %d executing script "%s"', number, script.file)
      end
      return transact(script)
   end
end

-- ---- before the first transaction, and after the last --------------------

-- The commands' first lines, script by script, for --report-per-command.
local function write_commands(list)
   local file = assert(io.open(sysbench.opt.board .. ".commands", "w"))
   for _, script in ipairs(list) do
      file:write(table.concat(script.commands, "\0"), "\0\0")
   end
   file:close()
end

function client.start(list)
   local opt = sysbench.opt
   raw.open_client { number = number, board = opt.board, scripts = #list,
      transactions = opt.transactions, is_timed = opt.timed or opt.max_tries ~= 1,
      wants_latency = opt.timed, is_paced = opt.rate > 0,
      latency_limit_us = opt.latency_limit_us,
      commands = opt.report_commands and user.commands or 0, debugging = opt.debugging }
   client.end_us = raw.now_us() + opt.time * 1e6
   if opt.report_commands and number == 0 then
      write_commands(list)
   end
   if opt.log_part ~= "" then
      open_log(opt.log_part)
   end
   if not opt.connect then
      connect()
   end
   if not client.is_watched then
      raw.play_directly(user.con.number)
   end
end

function client.stop()
   if log then
      log:close()
   end
end

return client
