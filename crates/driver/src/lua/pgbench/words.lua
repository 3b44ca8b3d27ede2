-- The words of pgbench's expressions: numbers, :variables, names and symbols.
local values = ...

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
         values.fail("syntax error in expression at '%s'", text:sub(at))
      end
      words[#words + 1] = word
      at = text:find("%S", at + length) or #text + 1
   end
   return words
end

return words_of
