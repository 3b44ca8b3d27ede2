-- A pgbench file as functions: each command a step, \if and its kin a tree of them.
local raw, values, texts, statements, user, compile_expression, shell = ...

-- ---- meta commands, but those that store a row: each adds its step to what is built -----------

local meta = {}
local UNITS = { us = 1e-6, ms = 1e-3, s = 1 }

local function check_name(name)
   if not texts.is_name(name) then
      values.fail('invalid variable name: "%s"', name)
   end
   return name
end

function meta.set(self, rest)
   local name, text = rest:match("^(%S+)%s*(.*)$")
   if name == nil then
      values.fail("missing argument")
   end
   check_name(name)
   local expression, variables = self:expression(text), user.variables
   self:step(function() variables[name] = expression() end)
end

meta["if"] = function(self, rest)
   local branches = { { self:expression(rest), {} } }
   self.ifs[#self.ifs + 1] = { outer = self.block, branches = branches, line = self.line }
   local conditions = {}
   self:step(function()
      for i = 1, #branches do
         if values.is_true(branches[i][1]()) then
            conditions[i] = conditions[i] or user.sequence(branches[i][2])
            return conditions[i]()
         end
      end
   end)
   self.block = branches[1][2]
end

local function refuse_arguments(rest)
   if rest ~= "" then
      values.fail("unexpected argument")
   end
end

local function branch(self, name, condition, is_last)
   local open = self.ifs[#self.ifs]
   if open == nil then
      values.fail("\\%s without matching \\if", name)
   elseif open.has_else then
      values.fail("\\%s after \\else", name)
   end
   open.has_else = is_last
   self.block = {}
   open.branches[#open.branches + 1] = { condition, self.block }
end

function meta.elif(self, rest)
   branch(self, "elif", self:expression(rest), false)
end

meta["else"] = function(self, rest)
   refuse_arguments(rest)
   branch(self, "else", function() return true end, true)
end

function meta.endif(self, rest)
   refuse_arguments(rest)
   local open = table.remove(self.ifs)
   if open == nil then
      values.fail("\\endif without matching \\if")
   end
   self.block = open.outer
end

-- Whole seconds, or whole numbers of another unit; of a variable's value the digits it begins with.
function meta.sleep(self, rest)
   local number, unit, more = rest:match("^(%S+)%s*(%S*)%s*(.*)$")
   if number == nil then
      values.fail("missing argument")
   elseif more ~= "" then
      values.fail("too many arguments")
   end
   local name = number:match("^:(.*)$")
   local digits, joined = number:match("^([-+]?%d+)(.*)$")
   unit = unit == "" and joined or unit
   local factor = UNITS[unit and unit ~= "" and unit:lower() or "s"]
   if not name and (not digits or joined ~= "" and joined ~= unit) then
      values.fail("invalid sleep time, must be an integer (%s)", number)
   elseif factor == nil then
      values.fail("unrecognized time unit, must be us, ms or s (%s)", unit)
   end
   self:step(function()
      local text = digits
      if name then
         local value = user.variables[name]
         if value == nil then
            values.fail('undefined variable "%s"', name)
         end
         text = texts.text(value):match("^%s*([-+]?%d+)")
         if text == nil then
            values.fail('invalid sleep time "%s" for variable "%s"', texts.text(value), name)
         end
      end
      dyno.sleep(math.max(0, tonumber(text)) * factor)
   end)
end

-- ---- pipelines ----------------------------------------------------------------------------------

function meta.startpipeline(self, rest)
   refuse_arguments(rest)
   if user.is_simple() then
      values.fail("cannot use pipeline mode with the simple query protocol; "
         .. "the option protocol=prepared or extended allows it")
   elseif self.pipeline then
      values.fail("already in pipeline mode")
   end
   local pipeline = {}
   self.pipeline = pipeline
   self:step(function()
      for i = 1, #pipeline do
         pipeline[i].prepare()
      end
      user.con:pipeline_begin()
   end)
end

local function synced(self, rest, goes_on)
   refuse_arguments(rest)
   if not self.pipeline then
      values.fail("not in pipeline mode")
   end
   self:step(function()
      user.con:pipeline_sync()
      if goes_on then
         user.con:pipeline_begin()
      end
   end)
end

function meta.syncpipeline(self, rest)
   synced(self, rest, true)
end

function meta.endpipeline(self, rest)
   synced(self, rest, false)
   self.pipeline = nil
end

-- ---- programs -----------------------------------------------------------------------------------

function meta.shell(self, rest)
   self:step(shell.runner(rest))
end

function meta.setshell(self, rest)
   local name, text = rest:match("^(%S+)%s*(.*)$")
   local run = shell.runner(text or "", true)
   check_name(name)
   self:step(function() user.variables[name] = run() end)
end

-- ---- what is built ----------------------------------------------------------------------------

local commands = {}

local builder = {}
builder.__index = builder

function builder:step(body)
   local line = self.line
   local block = self.block
   block[#block + 1] = function()
      user.line = line
      return body()
   end
end

-- The function of an expression's text.
function builder:expression(text)
   if text == "" then
      values.fail("syntax error: an expression is missing")
   end
   return compile_expression(text, user.variables,
      ("script=%d,command=%d"):format(self.script, self.command))
end

function user.sequence(block)
   local count = #block
   return function()
      for i = 1, count do
         block[i]()
      end
   end
end

-- ---- SQL ----------------------------------------------------------------------------------------

function builder:statement(parts)
   local statement = statements[sysbench.opt.protocol](parts)
   local pipeline = self.pipeline or user.statements
   pipeline[#pipeline + 1] = statement
   return statement
end

local function store(names, row, prefix)
   for i, name in ipairs(names) do
      name = prefix .. name
      if not texts.is_name(name) then
         values.fail('error storing into variable %s: invalid variable name: "%s"', name, name)
      end
      user.variables[name] = texts.plain(row[i])
   end
end

-- \gset wants one row of the last result, \aset takes the last of each that has one.
local function stored(self, name, rest, line)
   local parts, of_all = self:taken(name, line), name == "aset"
   if self.pipeline then
      values.fail("\\%s is not allowed in pipeline mode", name)
   elseif rest:find("%s") then
      values.fail("too many arguments")
   end
   local statement = self:statement(parts)
   self:step(function()
      raw.keep_next()
      statement.execute()
      local count = raw.rows_brought()
      if not of_all and count ~= 1 then
         values.fail("expected one row, got %d", count)
      end
      local names, row = raw.last_rows(user.con.number, of_all)
      store(names, row, rest)
   end)
end

for _, name in ipairs { "gset", "aset" } do
   meta[name] = function(self, rest, line) stored(self, name, rest, line) end
end

-- The SQL before the command.
function builder:taken(name, line)
   local parts = self.waiting
   if parts == nil then
      self.line = line
      values.fail("\\%s must follow an SQL command", name)
   end
   self.waiting = nil
   return parts
end

-- ---- the file -----------------------------------------------------------------------------------

-- SQL waits for the piece after it, which may want its row.
function builder:flush()
   local parts = self.waiting
   if parts then
      self.waiting = nil
      local statement = self:statement(parts)
      self:step(statement.execute)
   end
end

function builder:add(piece)
   if piece.name ~= "gset" and piece.name ~= "aset" then
      self.command = self.command + 1
   end
   if piece.sql then
      self:flush()
      self.line, self.waiting = piece.line, piece.sql
   elseif meta[piece.name] then
      if piece.name ~= "gset" and piece.name ~= "aset" then
         self:flush()
         self.line = piece.line
      end
      meta[piece.name](self, piece.rest, piece.line)
   else
      self.line = piece.line
      values.fail("invalid command \\%s", piece.name)
   end
end

function builder:finish()
   self:flush()
   local open = self.ifs[#self.ifs]
   if open then
      self.line = open.line
      values.fail("\\if without matching \\endif")
   elseif self.pipeline then
      values.fail("end of script reached with pipeline open: \\endpipeline is missing")
   end
end

-- The function that plays the whole file once; `script` is its number among several, from 0.
function commands.compile(pieces, file, script)
   if #pieces == 0 then
      error(('empty command list for script "%s"'):format(file), 0)
   end
   local self = setmetatable(
      { block = {}, ifs = {}, line = 1, command = 0, script = script }, builder)
   local whole = self.block
   local ok, problem = pcall(function()
      for _, piece in ipairs(pieces) do
         self:add(piece)
      end
      self:finish()
   end)
   if not ok then
      error(("%s:%d: %s"):format(file, self.line, problem), 0)
   end
   return user.sequence(whole)
end

return commands
