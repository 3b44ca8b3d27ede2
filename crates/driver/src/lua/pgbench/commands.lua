-- A pgbench file as functions: each command a step, \if and its kin a tree of them.
local raw, values, texts, statements, user, compile_expression = ...

-- ---- meta commands, but those that store a row: each adds its step to what is built -----------

local meta = {}
local UNITS = { us = 1e-6, ms = 1e-3, s = 1 }

function meta.set(self, rest)
   local name, text = rest:match("^([%a_\128-\255][%w_\128-\255]*)%s*(.*)$")
   if name == nil then
      values.fail("\\set needs the name of a variable and an expression")
   end
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

local function branch(self, name, condition, is_last)
   local open = self.ifs[#self.ifs]
   if open == nil then
      values.fail("\\%s without \\if", name)
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

meta["else"] = function(self)
   branch(self, "else", function() return true end, true)
end

function meta.endif(self)
   local open = table.remove(self.ifs)
   if open == nil then
      values.fail("\\endif without \\if")
   end
   self.block = open.outer
end

function meta.sleep(self, rest)
   local number, unit = rest:match("^(:?[%w_]+)%s*(%a*)$")
   local factor = UNITS[unit == "" and "s" or unit]
   if number == nil or factor == nil or not (tonumber(number) or number:sub(1, 1) == ":") then
      values.fail("\\sleep needs a number or :variable, then us, ms or s: '%s'", rest)
   end
   local duration = self:expression(number)
   self:step(function() dyno.sleep(values.to_double(duration()) * factor) end)
end

function meta.startpipeline(self)
   if user.is_simple() then
      values.fail("\\startpipeline needs protocol=prepared")
   elseif self.pipeline then
      values.fail("\\startpipeline within a pipeline")
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

local function synced(self, name, goes_on)
   if not self.pipeline then
      values.fail("\\%s without \\startpipeline", name)
   end
   self:step(function()
      user.con:pipeline_sync()
      if goes_on then
         user.con:pipeline_begin()
      end
   end)
end

function meta.syncpipeline(self)
   synced(self, "syncpipeline", true)
end

function meta.endpipeline(self)
   synced(self, "endpipeline", false)
   self.pipeline = nil
end

for _, name in ipairs { "shell", "setshell" } do
   meta[name] = function()
      values.fail("\\%s starts programs, which is not offered", name)
   end
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
      values.fail("missing expression")
   end
   return compile_expression(text, user.variables)
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
   local form = user.is_simple() and statements.simple or statements.prepared
   local statement = form(parts, self.is_known)
   local pipeline = self.pipeline or user.statements
   pipeline[#pipeline + 1] = statement
   return statement
end

-- \gset wants one row, \aset takes the last if there is one.
function builder:stored(parts, prefix, wants_one)
   if self.pipeline then
      values.fail("\\%s is not allowed in a pipeline", wants_one and "gset" or "aset")
   end
   local statement = self:statement(parts)
   self:step(function()
      raw.keep_next()
      local answer = statement.execute()
      if wants_one and answer.nrows ~= 1 then
         values.fail("expected one row, got %d", tonumber(answer.nrows))
      end
      local names = raw.columns(user.con.number)
      for _ = 1, tonumber(answer.nrows) do
         local row = answer:fetch_row()
         for i, name in ipairs(names) do
            user.variables[prefix .. name] = texts.plain(row[i])
         end
      end
   end)
end

function meta.gset(self, rest)
   self:stored(self:taken("gset"), rest, true)
end

function meta.aset(self, rest)
   self:stored(self:taken("aset"), rest, false)
end

-- The SQL before the command.
function builder:taken(name)
   local parts = self.waiting
   if parts == nil then
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
   if piece.sql then
      self:flush()
      self.line, self.waiting = piece.line, piece.sql
   elseif meta[piece.name] then
      if piece.name ~= "gset" and piece.name ~= "aset" then
         self:flush()
         self.line = piece.line
      end
      meta[piece.name](self, piece.rest)
   else
      self.line = piece.line
      values.fail("no such command: \\%s", piece.name)
   end
end

function builder:finish()
   self:flush()
   local open = self.ifs[#self.ifs]
   if open then
      self.line = open.line
      values.fail("\\if without \\endif")
   elseif self.pipeline then
      values.fail("\\startpipeline without \\endpipeline")
   end
end

-- The function that plays the whole file once. `is_known`: is a name a variable's? Other `:name`s
-- are SQL's own.
function commands.compile(pieces, file, is_known)
   local self = setmetatable({ block = {}, ifs = {}, line = 1, is_known = is_known }, builder)
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
