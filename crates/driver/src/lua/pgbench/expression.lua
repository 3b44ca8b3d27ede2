-- pgbench's expressions: text in, steps out by which the driver reckons their value on a stack.
-- Precedence and functions are those of its documentation (\set).
local values, unary = ...
local fail = values.fail

-- ---- words: numbers, :variables, names and symbols --------------------------------------------

local SYMBOLS = { "<<", ">>", "<=", ">=", "<>", "!=", "=", "<", ">", "|", "#", "&", "~", "+", "-",
   "*", "/", "%", "(", ")", "," }

local function number_at(text, at)
   local digits = text:match("^%d+", at) or ""
   local rest = text:match("^%.%d*", at + #digits) or ""
   if digits == "" and not rest:find("%d") then
      return nil
   end
   local power = text:match("^[eE][-+]?%d+", at + #digits + #rest) or ""
   if rest == "" and power == "" then
      return { kind = "integer", digits }, #digits
   end
   local whole = digits .. rest .. power
   return { kind = "double", tonumber(whole) }, #whole
end

local function word_at(text, at)
   local name = text:match("^:([%w_\128-\255]+)", at)
   if name then
      return { kind = "variable", name }, #name + 1
   end
   local word = text:match("^[%a_][%w_]*", at)
   if word then
      return { kind = "word", word:lower() }, #word
   end
   for _, symbol in ipairs(SYMBOLS) do
      if text:sub(at, at + #symbol - 1) == symbol then
         return { kind = "symbol", symbol == "!=" and "<>" or symbol }, #symbol
      end
   end
   return nil
end

local function words_of(text)
   local words, at = {}, text:find("%S") or #text + 1
   while at <= #text do
      local word, length = number_at(text, at)
      if not word then
         word, length = word_at(text, at)
      end
      if not word then
         fail("unexpected character (%s)", text:sub(at, at))
      end
      words[#words + 1] = word
      at = text:find("%S", at + length) or #text + 1
   end
   return words
end

-- ---- operators, by how closely they bind ------------------------------------------------------

local parser = {}
parser.__index = parser

function parser:peek(...)
   local word = self.words[self.at]
   if word and (word.kind == "word" or word.kind == "symbol") then
      for i = 1, select("#", ...) do
         if word[1] == select(i, ...) then
            return word[1]
         end
      end
   end
   return nil
end

function parser:take(...)
   local found = self:peek(...)
   if found then
      self.at = self.at + 1
   end
   return found
end

function parser:expect(wanted)
   if not self:take(wanted) then
      local found = self.words[self.at]
      fail("syntax error: '%s' expected, found '%s'", wanted,
         found and found[1] or "its end")
   end
end

-- Adds a step; those that jump are told later where to. Steps count from 0.
function parser:add(step)
   self.steps[#self.steps + 1] = step
   return step
end

-- A level of operators that bind alike, from the left.
local function level(below, ...)
   local names = { ... }
   return function(self)
      self[below](self)
      local name = self:take(unpack(names))
      while name do
         self[below](self)
         self:add { call = { name, 2 } }
         name = self:take(unpack(names))
      end
   end
end

-- AND or OR: the right side is reckoned only where the left one does not decide.
local function logical(word, decides, below)
   return function(self)
      self[below](self)
      while self:take(word) do
         local decide = self:add({ decide = { decides, 0 } }).decide
         self[below](self)
         self:add { join = decides }
         decide[2] = #self.steps
      end
   end
end

parser.disjunction = logical("or", true, "conjunction")
parser.conjunction = logical("and", false, "negation")

function parser:negation()
   if not self:take("not") then
      return self:test()
   end
   self:negation()
   self:add "not"
end

function parser:test()
   self:comparison()
   local name = self:take("is", "isnull", "notnull")
   while name do
      if name == "is" then
         local expected = not self:take("not")
         local wanted = self:take("null", "true", "false") or self:expect("null")
         self:add { is = { wanted, expected } }
      else
         self:add { is = { "null", name == "isnull" } }
      end
      name = self:take("is", "isnull", "notnull")
   end
end

parser.comparison = level("bits", "<", ">", "=", "<=", ">=", "<>")
parser.bits = level("sum", "|", "#", "&", "<<", ">>")
parser.sum = level("product", "+", "-")
parser.product = level("unary", "*", "/", "%")
parser.unary, parser.expression = unary, parser.disjunction

-- What is read by functions that call each other needs room on Lua's stack.
local WORDS_MAX, NESTING_MAX = 4000, 100
local DEEPER = { ["("] = 1, case = 1, [")"] = -1, ["end"] = -1 }

local function check_depth(words)
   if #words > WORDS_MAX then
      fail("an expression has more than %d words", WORDS_MAX)
   end
   local depth = 0
   for _, word in ipairs(words) do
      depth = depth + (DEEPER[word[1]] or 0)
      if depth > NESTING_MAX then
         fail("an expression is nested deeper than %d times", NESTING_MAX)
      end
   end
end

-- Adds the steps of an expression's text.
return function(text, steps)
   local words = words_of(text)
   check_depth(words)
   local self = setmetatable({ words = words, at = 1, steps = steps }, parser)
   self:expression()
   local rest = self.words[self.at]
   if rest then
      fail("syntax error at '%s'", rest[1])
   end
end
