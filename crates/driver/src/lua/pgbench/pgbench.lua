-- A pgbench script file as a workload: options, a phase, and what its users play.
-- Its arguments are those of lua/prelude.lua.
local raw, identity, part = ...

-- One user: its connection, variables, and the file and line that it is at.
-- `in_lua`: why a transaction is played in Lua, wholly or in part.
local user = { statements = {}, all_statements = {}, commands = 0, in_lua = {} }

-- The driver has the variables.
user.variables = setmetatable({}, {
   __index = function(_, name) return raw.variable_text(name) end,
   __newindex = function(_, name, value) raw.set_variable(name, value) end,
})

local values = part("values")
local functions, arguments_max = part("functions")
local unary = part("atoms", raw, values, functions, arguments_max)
local add_expression = part("expression", values, unary)
local pieces_of, read = part("pieces", raw, identity)
local statements = part("statements", raw, identity, values, user)
local shell = part("shell", raw, values, user)
local tables = part("tables")

function user.is_simple()
   return sysbench.opt.protocol == "simple"
end

-- What of a script Lua plays, known to the driver by its number.
local calls = {}

function user.add_call(body)
   calls[#calls + 1] = body
   return #calls
end

-- Plays a program, or goes on with the one that the driver has handed over.
function user.play(program)
   local reply = raw.play_script(program, user.con.number)
   while reply ~= 0 do
      if reply == false then
         reply = raw.wait()
      elseif reply == true then
         local problem = raw.script_problem()
         if problem then
            error(problem, 0)
         end
         raw.raise(user.con, raw.sent_of_script())
      else
         calls[reply]()
         reply = raw.go_on_script()
      end
   end
end

if identity.options.board then
   user.client = part("client", raw, identity, user)
end

local commands = part("commands", raw, values, statements, user, add_expression, shell)
local scripts = part("scripts", raw, user, pieces_of, read, commands.compile)

-- ---- options ------------------------------------------------------------------------------------

local function one_of(...)
   local known = { ... }
   return function(_, text)
      for _, choice in ipairs(known) do
         if text == choice then
            return true
         end
      end
      return false
   end
end

local function at_least(least)
   return function(_, text) return tonumber(text) >= least end
end

sysbench.cmdline.options = {
   scale = { "Scale of pgbench's own tables: 100,000 accounts each; in scripts :scale", 1,
      sysbench.cmdline.ARG_INT, at_least(1) },
   protocol = { "How statements are sent: simple (variables spelled out in the text), extended or "
      .. "prepared (as parameters)", "simple", nil, one_of("simple", "extended", "prepared") },
   marked = { "The file is SQL with marks in its comments: each statement is an event (--sql)",
      false },
   weight = { "Weight of this script among those of also", 1, sysbench.cmdline.ARG_INT,
      at_least(0) },
   also = { "Other scripts to draw transactions from: FILE@WEIGHT,…", "" },
   setup = { "An SQL file that makes the tables; without it pgbench's own, if the script "
      .. "names them", "" },
   setup_database = { "Of several databases of setup the one that is loaded; *: all, each as it is "
      .. "named", "" },
   allow_shell = { "Let \\shell and \\setshell start programs", false },
   exit_on_abort = { "End the trial with the first transaction that fails", false },
   time = { "Seconds to measure, unless events are set", 2 },
   warmup_time = { "Seconds to play before measuring", 0.5 },
}

for name, option in pairs(user.client and user.client.options or {}) do
   sysbench.cmdline.options[name] = option
end

-- Reads a file of SQL with marks in its comments, if that is what it is.
local marked = nil
if sysbench.opt.marked then
   sysbench.cmdline.options.protocol[2] = "prepared"
   marked = part("marked", user, statements, part("marks", raw, user, values), pieces_of,
      commands.compile)
end

-- ---- the workload -------------------------------------------------------------------------------

-- The one phase in which a pgbench file is played.
local function declare_phases()
   local opt = sysbench.opt
   local open = opt.rate > 0
   local stream = { name = "transaction", run = "event", connections = opt.threads,
      role = "writer", unit = "transaction" }
   if open then
      stream.pace = { kind = opt.arrivals, rate_per_s = opt.rate }
   end
   local stop = opt.events > 0 and { kind = "count", events = opt.events }
      or { kind = "time", duration_s = opt.time }
   return { { name = "run", streams = { stream }, stop = stop, warmup_s = opt.warmup_time,
      stationary = true, expected_s = opt.warmup_time + (stop.duration_s or opt.events / 10000),
      primary = { { stream = "transaction", metric = open and "latency_ns_p99" or "rate_per_s" } },
   } }
end

local OWN = { scale = true, client_id = true, random_seed = true, default_seed = true }

-- The seeds are the same for all users: a hash or a permutation is one of the whole run.
local function start_variables(given)
   local variables, seed = user.variables, sysbench.opt.rand_seed
   variables.scale, variables.client_id = sysbench.opt.scale, identity.number
   variables.random_seed = (user.client or seed ~= 0) and seed or identity.seed
   variables.default_seed = raw.seed_scripts(tonumber(variables.random_seed),
      identity.number, user.client and sysbench.opt.threads or nil)
   for name, value in pairs(given) do
      variables[name] = value
   end
end

-- Ends the trial with the first transaction that fails for good.
local function exiting_on_abort(play)
   return function()
      local ok, problem = pcall(play)
      if not ok and type(problem) ~= "table" then
         raw.fail(("a transaction failed: %s"):format(tostring(problem)),
            "exit_on_abort=off counts such transactions and goes on")
      elseif not ok then
         error(problem, 0)
      end
   end
end

function raw.run_pgbench(text, file)
   raw.own_globals = {}
   local list, total, whole
   if marked then
      whole, total = marked.read(text, file)
      list = whole.events
   else
      list, total = scripts.all(text, file)
   end
   local given, own, uses_own_tables = {}, setmetatable({}, { __index = OWN }), false
   if whole then
      whole:add_declared(own)
      statements.add_given(whole:other_pieces(), own, given)
   end
   for _, each in ipairs(list) do
      statements.add_given(each.pieces, own, given)
      uses_own_tables = uses_own_tables or each.text:find("pgbench_") ~= nil
   end
   statements.add_defined(given)
   if whole then
      whole:complete(OWN, given)
   end
   scripts.compile(list)
   function raw.list_in_lua() return user.in_lua end
   event = (user.client or scripts).player(list)
   if sysbench.opt.exit_on_abort and not user.client then
      event = exiting_on_abort(event)
   end
   raw.locate = function()
      raw.place(("%s:%d"):format(user.file, user.line or raw.place_of_script()))
   end

   function thread_init()
      start_variables(given)
      if user.client then
         return user.client.start(list)
      end
      user.con = sysbench.sql.driver():connect()
      raw.play_directly(user.con.number)
      if whole then
         whole:fill()
      end
      for _, statement in ipairs(user.statements) do
         pcall(statement.prepare) -- what cannot be prepared yet, is before it is first played
      end
   end

   thread_done = user.client and user.client.stop

   local has_setup = whole and #whole.setup > 0
   if sysbench.opt.setup ~= "" or uses_own_tables or has_setup then
      function prepare()
         local con = sysbench.sql.driver():connect()
         if sysbench.opt.setup ~= "" then
            raw.run_setup()
         elseif uses_own_tables then
            tables.make(con, sysbench.opt.scale)
         end
         if has_setup then
            user.con = con
            start_variables(given)
            whole:play_setup()
         end
      end
   end

   if sysbench.opt.setup == "" and uses_own_tables then
      function cleanup()
         tables.drop(sysbench.sql.driver():connect())
      end
   end

   dyno.phases = declare_phases
   function dyno.size_bytes()
      return uses_own_tables and sysbench.opt.scale * 16e6 or 0
   end
end
