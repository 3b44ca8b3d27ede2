-- The scripts of a mix: the file that is played and those of the option `also`, each with a weight;
-- a transaction is one of them, drawn anew each time.
local raw, user, pieces_of, read, compile = ...

local scripts = {}
local SCRIPTS_MAX, WEIGHT_MAX = 128, 2 ^ 31 - 1 -- pgbench's

local HINT = "also=FILE@WEIGHT,FILE@WEIGHT names the other scripts"

local function refuse(message, hint)
   raw.fail(message, hint or HINT)
end

local function weight_of(text)
   local weight = tonumber(text:match("^-?%d+$"))
   if weight == nil then
      refuse(("invalid weight specification: @%s"):format(text))
   elseif weight < 0 or weight > WEIGHT_MAX then
      refuse(("weight specification out of range (0 .. %d): %s"):format(WEIGHT_MAX, text))
   end
   return weight
end

-- A script: its name and file, its text, its pieces, its weight.
local function script(text, path, weight)
   local file = path:match("[^/]*$")
   return { file = file, name = file:gsub("%.[^.]*$", "", 1), text = text, weight = weight,
      pieces = pieces_of(text, file) }
end

-- All scripts in their order.
function scripts.all(text, file)
   local found = { script(text, file, sysbench.opt.weight) }
   for word in sysbench.opt.also:gmatch("[^,]+") do
      local path, weight = word:match("^%s*(.-)@([^@/]*)$")
      path = path or word:match("^%s*(.-)%s*$")
      local its_text = read(path, "script", HINT)
      found[#found + 1] = script(its_text, path, weight and weight_of(weight) or 1)
   end
   local total = 0
   for _, each in ipairs(found) do
      total = total + each.weight
   end
   if total == 0 then
      refuse("total script weight must not be zero")
   elseif #found > SCRIPTS_MAX then
      refuse(("at most %d SQL scripts are allowed"):format(SCRIPTS_MAX))
   end
   return found, total
end

-- Does a script begin a transaction? Then it has to end it, too.
local function begins_transaction(pieces)
   for _, piece in ipairs(pieces) do
      for _, part in ipairs(piece.sql or {}) do
         local plain = type(part) == "string" and part:lower() or ""
         if plain:find("%f[%w]begin%f[%W]") or plain:find("%f[%w]start%f[%W]") then
            return true
         end
      end
   end
   return false
end

-- Gives each script its number, its program and, of several, its transaction type. A program that
-- may be drawn is one of the first that the driver has.
function scripts.compile(list)
   for at, each in ipairs(list) do
      user.file, each.number = each.file, at - 1
      each.kind = #list > 1 and not user.client and each.weight > 0 and raw.kind(each.name) or 0
      each.begins = begins_transaction(each.pieces)
      each.program = compile(each, each.begins)
   end
   raw.draw_from(#list)
end

-- The function that plays one transaction. One that begins anew is of the same script.
function scripts.player(list)
   sysbench.hooks.before_restart_event = raw.draw_again
   return function()
      local script = list[raw.draw_script() + 1]
      user.file = script.file
      raw.name_event(script.kind)
      user.play(script.program)
      if script.begins and raw.in_transaction(user.con.number) then
         refuse(script.file .. ": end of script reached without completing the last transaction",
            "end the script with COMMIT or ROLLBACK")
      end
   end
end

return scripts
