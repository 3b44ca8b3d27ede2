-- Prepared statements, and the cells that are bound to them.
local raw, requests, connection, bind_create = ...
local opt = sysbench.opt
local setmetatable, type, unpack = setmetatable, type, unpack
local finish, raise = requests.finish, requests.raise

local CLOSED = 2 ^ 31
local statement = { bind_create = bind_create }
statement.__index = statement
statement.__tostring = function() return "<sql_statement>" end

local function new_statement(con, query, number)
   return setmetatable(
      { connection = con, params = {}, count = 0, query = query, number = number }, statement)
end

function connection:prepare(query)
   if opt.db_ps_mode == "disable" then
      return self:unprepared(query)
   end
   local number = raw.prepare(self.number, query)
   if number == true then
      raise(self, query)
   end
   return new_statement(self, query, number)
end

-- A statement that is sent as text each time: every `?` becomes its value's literal.
function connection:unprepared(query)
   return new_statement(self, query, raw.text(self.number, query))
end

function raw.is_statement(value)
   return type(value) == "table" and getmetatable(value) == statement
end

function statement:bind_param(...)
   self.count = select("#", ...)
   self.params, self.values = { ... }, {}
   local kinds = {}
   for i, cell in ipairs(self.params) do
      kinds[i] = cell.kind
   end
   raw.bind(self.number, kinds)
   return true
end

local execute0, execute1, execute2 = raw.execute0, raw.execute1, raw.execute2
local execute4, execute_many = raw.execute4, raw.execute_many

-- Reads the bound cells and sends them with the statement. Returns a result set.
function statement:execute()
   local count, p, number, reply = self.count, self.params, self.number
   if count == 1 then
      reply = execute1(number, p[1].value)
   elseif count == 2 then
      reply = execute2(number, p[1].value, p[2].value)
   elseif count == 0 then
      reply = execute0(number)
   elseif count == 4 then
      reply = execute4(number, p[1].value, p[2].value, p[3].value, p[4].value)
   else
      local values = self.values
      for i = 1, count do
         values[i] = p[i].value
      end
      reply = execute_many(number, unpack(values, 1, count))
   end
   return finish(self.connection, reply, self.query)
end

-- Frees it; executed later, it is refused.
function statement:close()
   if self.number ~= CLOSED then
      raw.close(self.number)
      self.number = CLOSED
   end
   return true
end
