-- An SQL file with marks in its comments (marks.lua), as scripts of a mix: each statement, or each
-- transaction from BEGIN to COMMIT, is one, and draws the parameters that it speaks of first.
local user, statements, marks, pieces_of, compile = ...

local reader = {}
reader.__index = reader

local BEGINS = { begin = true, start = true }
local ENDS = { commit = true, rollback = true, ["end"] = true, abort = true }
local ROWS_AT_ONCE = 1000 -- of a statement of the setup, in one transaction

local function verb_of(parts)
   for _, part in ipairs(parts) do
      local verb = type(part) == "string" and part:match("%a+")
      if verb then
         return verb:lower()
      end
   end
   return "statement"
end

function reader:fail(line, message, ...)
   error(("%s:%d: %s"):format(self.file, line, message:format(...)), 0)
end

function reader:begin(piece, verb)
   local words = self.words
   if words.times and not self.in_setup then
      self:fail(piece.line, "times: belongs to the setup; weight: says how often one is played")
   elseif words.weight and self.in_setup then
      self:fail(piece.line, "weight: belongs to what is played; times: repeats a part of the setup")
   end
   local event = { file = self.file, line = piece.line, weight = words.weight or 1,
      name = words.name or ("%s:%d"):format(verb, piece.line), times = words.times or 1,
      pieces = {}, speaks = {}, sets = { row = self.in_setup }, text = "" }
   self.words = {}
   for _, meta in ipairs(self.metas) do
      event.pieces[#event.pieces + 1] = meta
      event.sets[meta.name == "set" and meta.rest:match("^%S*") or ""] = true
      statements.names({ meta.rest }, event.speaks)
   end
   self.metas = {}
   local list = self.in_setup and self.setup or self.events
   list[#list + 1] = event
   return event
end

function reader:add_sql(piece)
   local verb = verb_of(piece.sql)
   local event = self.open or self:begin(piece, verb)
   event.is_transaction = event.is_transaction or BEGINS[verb]
   if self.open == nil then
      event.known = #self.parameters
   end
   statements.names(piece.sql, event.speaks)
   event.pieces[#event.pieces + 1] = piece
   self.open = event.is_transaction and not ENDS[verb] and event or nil
end

function reader:add_mark(piece)
   if self.open then
      self:fail(piece.line, "a mark stands between BEGIN and COMMIT; before BEGIN is its place")
   end
   local ok, word, value = pcall(piece.mark:sub(1, 1) == ":" and marks.parameter or marks.word,
      piece.mark)
   if not ok then
      self:fail(piece.line, "%s", word)
   elseif type(word) == "table" then
      word.line = piece.line
      self.parameters[#self.parameters + 1] = word
   elseif word == "setup" or word == "run" then
      self.in_setup = word == "setup"
   else
      self.words[word] = value
   end
end

-- Puts the parameters that an event speaks of before it: the last of each name that stands above.
function reader:draw(event, given)
   local drawn, wanted, seen = {}, event.speaks, {}
   for at = event.known, 1, -1 do
      local parameter, is_wanted = self.parameters[at], false
      for _, name in ipairs(parameter.names) do
         is_wanted = is_wanted or wanted[name] and not seen[name]
         seen[name] = true
      end
      if is_wanted then
         statements.names({ parameter.speaks or "" }, wanted)
         table.insert(drawn, 1, parameter)
      end
   end
   for name in pairs(wanted) do
      if not (seen[name] or event.sets[name] or given[name] ~= nil or self.own[name]) then
         self:fail(event.line, ":%s has no value: -- :%s = 1..1000 above it draws one, "
            .. "--set %s=… gives it", name, name, name)
      end
   end
   for at, piece in ipairs(drawn) do
      table.insert(event.pieces, at, piece)
   end
end

function reader:read(text)
   for _, piece in ipairs(pieces_of(text, self.file, true)) do
      if piece.mark then
         self:add_mark(piece)
      elseif piece.sql then
         self:add_sql(piece)
      else
         self.metas[#self.metas + 1] = piece
      end
   end
   local word = next(self.words)
   if self.open then
      self:fail(self.open.line, "this transaction has no COMMIT")
   elseif word or self.metas[1] then
      self:fail(self.metas[1] and self.metas[1].line or 1, "%s stands behind the last statement",
         word and word .. ":" or "\\" .. self.metas[1].name)
   elseif #self.events == 0 then
      error(("%s has no statement to play: its run is empty"):format(self.file), 0)
   end
end

-- Reads a file: its events with their total weight, and itself, to be completed.
local marked = {}

function marked.read(text, file)
   local self = setmetatable({ file = file, events = {}, setup = {}, parameters = {}, words = {},
      metas = {} }, reader)
   self:read(text)
   local total = 0
   for _, event in ipairs(self.events) do
      total = total + event.weight
   end
   if total == 0 then
      error(("%s: all weights are 0, so nothing is played"):format(file), 0)
   end
   return self, total
end

-- Adds the names that the file itself gives values.
function reader:add_declared(names)
   names.row = true
   for _, parameter in ipairs(self.parameters) do
      for _, name in ipairs(parameter.names) do
         names[name] = true
      end
   end
end

-- Pieces that speak of options, beside those of its events.
function reader:other_pieces()
   local found = {}
   for _, parameter in ipairs(self.parameters) do
      found[#found + 1] = { name = "", rest = parameter.speaks or "" }
   end
   for _, event in ipairs(self.setup) do
      for _, piece in ipairs(event.pieces) do
         found[#found + 1] = piece
      end
   end
   return found
end

-- Once the options are known: parameters before their events. `own`: variables that are always
-- there; `given`: those that the user gave.
function reader:complete(own, given)
   self.own = own
   for _, list in ipairs { self.setup, self.events } do
      for _, event in ipairs(list) do
         self:draw(event, given)
      end
   end
end

-- Reads the rows of the parameters that come from queries, before they are measured.
function reader:fill()
   for _, event in ipairs(self.events) do
      for _, piece in ipairs(event.pieces) do
         if piece.fill and not piece.is_filled then
            piece:fill()
         end
      end
   end
end

-- Plays the setup once, on the user's connection.
function reader:play_setup()
   local played, con = user.statements, user.con
   user.statements = {}
   for at, event in ipairs(self.setup) do
      event.number = at - 1
      local program = compile(event, false)
      local is_many = event.times > 1 and not event.is_transaction
      for row = 1, event.times do
         if is_many and row % ROWS_AT_ONCE == 1 then
            con:query("BEGIN")
         end
         user.variables.row = row
         user.play(program)
         if is_many and (row % ROWS_AT_ONCE == 0 or row == event.times) then
            con:query("COMMIT")
         end
      end
   end
   user.statements = played
end

return marked
