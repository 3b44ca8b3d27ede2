-- A pgbench script file as a workload: options, a phase, and what its users play.
-- Its arguments are those of lua/prelude.lua.
local raw, identity, part = ...

-- One user: its connection, variables, and the line it is at.
local user = { variables = {}, statements = {}, line = 1 }

local values, texts = part("values")
local operators = part("operators", values)
local functions = part("functions", values, texts, operators)
local unary = part("atoms", values, operators, functions, texts)
local compile_expression = part("expression", values, operators, unary)
local run_setup, pieces_of = part("pieces", raw, identity)
local statements = part("statements", raw, values, texts, user)
local tables = part("tables")

function user.is_simple()
   return sysbench.opt.protocol == "simple"
end

local commands = part("commands", raw, values, texts, statements, user, compile_expression)

-- ---- options ------------------------------------------------------------------------------------

local function one_of(first, second)
   return function(_, text)
      return text == first or text == second
   end
end

sysbench.cmdline.options = {
   scale = { "Scale of pgbench's own tables: 100,000 accounts each; in scripts :scale", 1,
      sysbench.cmdline.ARG_INT, function(_, text) return tonumber(text) > 0 end },
   protocol = { "prepared, or simple to send variables spelled out in the text", "prepared", nil,
      one_of("prepared", "simple") },
   setup = { "An SQL file that makes the tables; without it pgbench's own, if the script "
      .. "names them", "" },
   time = { "Seconds to measure, unless events are set", 2 },
   warmup_time = { "Seconds to play before measuring", 0.5 },
}

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

local function start_variables(given)
   local variables = user.variables
   variables.scale, variables.client_id = sysbench.opt.scale, identity.number
   variables.random_seed, variables.default_seed = raw.rand_uint32(), raw.rand_uint32()
   for name in pairs(given) do
      variables[name] = texts.plain(sysbench.opt[name])
   end
end

function raw.run_pgbench(text, file)
   raw.own_globals = {}
   local list = pieces_of(text, file)
   local is_known, given = statements.known_names(list)
   event = commands.compile(list, file, is_known)
   raw.locate = function()
      raw.place(("%s:%d"):format(file, user.line))
   end

   function thread_init()
      math.randomseed(raw.rand_uniform(1, 2 ^ 31 - 1))
      user.con = sysbench.sql.driver():connect()
      start_variables(given)
      for _, statement in ipairs(user.statements) do
         pcall(statement.prepare) -- what cannot be prepared yet, is before it is first played
      end
   end

   if sysbench.opt.setup ~= "" or text:find("pgbench_") then
      function prepare()
         local con = sysbench.sql.driver():connect()
         if sysbench.opt.setup ~= "" then
            run_setup(con)
         else
            tables.make(con, sysbench.opt.scale)
         end
      end
   end

   function cleanup()
      tables.drop(sysbench.sql.driver():connect())
   end

   dyno.phases = declare_phases
   function dyno.size_bytes()
      return text:find("pgbench_") and sysbench.opt.scale * 16e6 or 0
   end
end
