-- A client of `dyno pgbench`: what pgbench does around each transaction, which its own loop would:
-- retries, what is skipped because it is late, clients that abort, and what is told of all that.
local raw, identity, user, values, board = ...

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
   local epoch_us = board.epoch_us()
   log:write(("%d %d %s %d %d %06d"):format(number, client.ended, shown, script.number,
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

client.ended = 0 -- transactions that ended or were skipped

local function ended(script, column, begun_us, due_us, tries)
   local opt, at, shown = sysbench.opt, board.script(script.number), nil
   local lag_us = begun_us - due_us
   board.add(at + column)
   if tries > 1 then
      board.add(at + board.RETRIED)
      board.add(at + board.RETRIES, tries - 1)
   end
   if column == board.DONE and opt.timed then
      local latency_us = board.now_us() - due_us
      board.add(at + board.LATENCY_US, latency_us)
      board.add(at + board.LATENCY_US2, latency_us * latency_us)
      board.add(at + board.LAG_US, lag_us)
      board.cells[at + board.LAG_US_MAX] = math.max(board.cells[at + board.LAG_US_MAX], lag_us)
      if opt.latency_limit_us > 0 and latency_us > opt.latency_limit_us then
         board.add(at + board.LATE)
      end
      shown = log and ("%.0f"):format(latency_us)
   end
   client.ended = client.ended + 1
   if log then
      write_log(script, shown or client.word_of(column), lag_us, tries)
   end
end

local WORDS = { [board.SKIPPED] = "skipped", [board.SERIALIZATION] = "serialization",
   [board.DEADLOCK] = "deadlock", [board.OTHER] = "other" }

-- What the log says in the place of a latency.
function client.word_of(column)
   if column == board.SKIPPED or sysbench.opt.failures_detailed then
      return WORDS[column]
   end
   return "failed"
end

-- The client plays no more; false ends its stream.
local function abort(message, ...)
   if message then
      tell("error: client %d " .. message, number, ...)
   end
   board.cells[board.ABORTED] = 1
   client.is_over = true
   if user.con then
      user.con:disconnect()
   end
   if sysbench.opt.exit_on_abort then
      raw.fail("a client aborted", "")
   end
   return false
end

local STATES = { ["40001"] = board.SERIALIZATION, ["40P01"] = board.DEADLOCK }
local EVALUATED = { set = true, ["if"] = true, elif = true }

-- The column in which an error is counted; nil: it ends the client, and was told.
local function column_of(problem, script)
   local con, at, name = user.con, user.command, user.command_name
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
      return column or board.OTHER
   end
   tell("error: client %d script %d aborted in command %d query 0: %s\n", number, script.number, at,
      con.sql_report)
   return nil
end

-- May a transaction be tried once more?
local function may_repeat(column, tries, due_us)
   local opt = sysbench.opt
   if column == board.OTHER or opt.max_tries > 0 and tries >= opt.max_tries then
      return false
   end
   local now_us = board.now_us()
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
      :format(100 * (board.now_us() - due_us) / opt.latency_limit_us) or ""
   tell("client %d %s (try %d%s%s)\n", number, is_again
      and "repeats the transaction after the error" or "ends the failed transaction", tries, of,
      share)
end

-- ---- a transaction --------------------

local function count_of_command(column)
   if sysbench.opt.report_commands and user.command_at then
      board.add(user.command_at + column)
   end
end

local before = require("ffi").new("uint64_t[2]")

-- Plays a script until it has ended well, or may not be tried again. With another try come the
-- same random numbers.
local function transact(script, begun_us, due_us)
   local tries, draws = 1, user.draws
   before[0], before[1] = draws[0], draws[1]
   while true do
      user.con.sql_report = nil
      local is_good, problem = pcall(script.play)
      if is_good then
         ended(script, board.DONE, begun_us, due_us, tries)
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
      count_of_command(is_again and board.REPEATS or board.FAILURES)
      if not is_again then
         return ended(script, column, begun_us, due_us, tries)
      end
      tries = tries + 1
      draws[0], draws[1] = before[0], before[1]
   end
end

local function connect()
   local began_us = board.now_us()
   if user.con then
      user.con:disconnect()
   end
   user.con = sysbench.sql.driver():connect()
   for _, statement in ipairs(user.all_statements) do
      statement.forget()
   end
   board.add(board.CONNECT_US, board.now_us() - began_us)
   board.add(board.CONNECTS)
end

-- The function that plays a client's next transaction; `draw` says of which script.
function client.player(draw)
   return function()
      local opt = sysbench.opt
      if client.is_over or opt.transactions > 0 and client.ended >= opt.transactions then
         return false
      end
      local script = draw()
      user.file = script.file
      local begun_us = (opt.timed or opt.max_tries ~= 1) and board.now_us() or 0
      local due_us = opt.rate > 0 and raw.due_ns() / 1000 or begun_us
      if opt.rate > 0 and opt.latency_limit_us > 0 and begun_us - due_us > opt.latency_limit_us then
         return ended(script, board.SKIPPED, begun_us, due_us, 1)
      end
      if opt.connect then
         connect()
         begun_us = board.now_us()
         due_us = opt.rate > 0 and due_us or begun_us
      end
      if opt.debugging then
         tell('client %d executing script "%s"', number, script.file)
      end
      return transact(script, begun_us, due_us)
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
   local opt, at = sysbench.opt, 0
   board.open(opt.board)
   client.end_us = board.now_us() + opt.time * 1e6
   for _, script in ipairs(list) do
      script.first = board.command(#list, at)
      at = at + #script.commands
   end
   board.command(#list, at)
   if opt.report_commands and number == 0 then
      write_commands(list)
   end
   if opt.log_part ~= "" then
      open_log(opt.log_part)
   end
   if not opt.connect then
      connect()
   end
end

function client.stop()
   if log then
      log:close()
   end
end

-- ---- commands --------------------

-- A command's step, which says where the client is, and is timed where that is wanted.
function client.step(script, command, name, body)
   return function()
      user.command, user.command_name = command, name
      local opt = sysbench.opt
      if opt.debugging and name ~= "SQL" then
         tell("client %d executing \\%s", number, name)
      end
      if not opt.report_commands then
         return body()
      end
      local at = script.first + command * 4
      user.command_at = at
      local began_us = board.now_us()
      body()
      board.add(at + board.PLAYED)
      board.add(at + board.SPENT_US, board.now_us() - began_us)
   end
end

-- What is sent, to be told where that is wanted.
function client.sending(sql)
   if sysbench.opt.debugging then
      tell("client %d sending %s", number, sql)
      tell("client %d receiving", number)
   end
end

return client
