-- Options as text: how a value is read, by the option's type, and how it is written.
local raw = ...
local cmdline = sysbench.cmdline

local type_of_default = {
   boolean = cmdline.ARG_BOOL, number = cmdline.ARG_DOUBLE,
   string = cmdline.ARG_STRING, table = cmdline.ARG_LIST, ["nil"] = cmdline.ARG_STRING,
}

local truth = {
   ["on"] = true, ["true"] = true, ["yes"] = true, ["1"] = true, [""] = true,
   ["off"] = false, ["false"] = false, ["no"] = false, ["0"] = false,
}

local size_suffix = { K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, T = 2 ^ 40 }

local function plain_number(text)
   return text:match("^%s*[-+.%d]") and tonumber(text) or nil
end

local parse = {
   [cmdline.ARG_BOOL] = function(text)
      return truth[text:lower()], "on or off"
   end,
   [cmdline.ARG_INT] = function(text)
      local n = plain_number(text)
      return n and n % 1 == 0 and n or nil, "a whole number"
   end,
   [cmdline.ARG_SIZE] = function(text)
      local digits, suffix = text:match("^(%d+)([KMGTkmgt]?)$")
      local factor = suffix ~= "" and suffix and size_suffix[suffix:upper()] or 1
      return digits and tonumber(digits) * factor, "a size such as 512K or 16M"
   end,
   [cmdline.ARG_DOUBLE] = function(text)
      local n = plain_number(text)
      return n == n and n or nil, "a number"
   end,
   [cmdline.ARG_STRING] = function(text) return text end,
   [cmdline.ARG_LIST] = function(text)
      local items = {}
      for item in text:gmatch("[^,]+") do
         items[#items + 1] = item:match("^%s*(.-)%s*$")
      end
      return items
   end,
}
parse[cmdline.ARG_FILE] = parse[cmdline.ARG_STRING]

-- Text of a value as a user would write it.
local function shown(value)
   if value == nil then
      return ""
   elseif type(value) == "boolean" then
      return value and "on" or "off"
   elseif type(value) == "table" then
      return table.concat(value, ",")
   end
   return type(value) == "number" and raw.number_text(value) or tostring(value)
end

-- The type that a script gave its option, or that its default has.
local function type_of(definition)
   return definition[3] or type_of_default[type(definition[2])]
end

return { parse = parse, shown = shown, type_of = type_of }
