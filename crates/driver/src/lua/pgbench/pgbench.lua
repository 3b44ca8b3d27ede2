-- A pgbench script file as a workload: options, a phase, and what its users play.
-- Its arguments are those of lua/prelude.lua.
local raw, seat, part = ...

-- One user: its connection, variables, and the line it is at.
local user = { variables = {}, statements = {}, line = 1 }

local values = part("values")
local texts = part("texts", values)
local operators = part("operators", values)
local functions = part("functions", values, operators,
   part("permutation", values), texts)
for name, body in pairs(part("random", values)) do
   functions[name] = body
end
local words_of = part("words", values)
local parser = part("expression", values, operators,
   part("atoms", values, operators, functions, texts))
local pieces = part("pieces")
local statements = part("statements", values, texts, user)
local play_setup, pieces_of = part("setup", raw, seat, pieces)
local known_names = part("names", raw, statements)
local tables, declare_phases = part("tables"), part("phases")

local function compile_expression(text, variables)
   local self = setmetatable({ words = words_of(text), at = 1, variables = variables }, parser)
   local expression = self:expression()
   local rest = self.words[self.at]
   if rest then
      values.fail("syntax error in expression at '%s'", rest[1])
   end
   return expression
end

function user.is_simple()
   return sysbench.opt.protocol == "simple"
end

local commands = part("commands", raw, values, texts, statements, user, compile_expression,
   part("meta", values, user))

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

local function start_variables(given)
   local variables = user.variables
   variables.scale, variables.client_id = sysbench.opt.scale, seat.number
   variables.random_seed, variables.default_seed = raw.rand_uint32(), raw.rand_uint32()
   for name in pairs(given) do
      variables[name] = texts.plain(sysbench.opt[name])
   end
end

function raw.run_pgbench(text, file)
   raw.own_globals = {}
   local list = pieces_of(text, file)
   local is_known, given = known_names(list)
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
            play_setup(con)
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
