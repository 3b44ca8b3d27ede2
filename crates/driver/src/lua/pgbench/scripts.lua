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

local function whole(each)
   local play = each.play
   if not begins_transaction(each.pieces) then
      return play
   end
   return function()
      play()
      if raw.in_transaction(user.con.number) then
         refuse(each.file .. ": end of script reached without completing the last transaction",
            "end the script with COMMIT or ROLLBACK")
      end
   end
end

-- Gives each script its number and the function that plays it; returns what draws one by weight.
function scripts.compile(list, total)
   for at, each in ipairs(list) do
      user.file, each.number = each.file, at - 1
      each.play = compile(each)
   end
   local random = math.random
   return function()
      if #list == 1 then
         return list[1]
      end
      local left, at = random(1, total), 1
      while left > list[at].weight do
         left, at = left - list[at].weight, at + 1
      end
      return list[at]
   end
end

-- The function that plays one transaction. One that begins anew is of the same script.
function scripts.player(list, draw)
   for _, each in ipairs(list) do
      each.play = whole(each)
   end
   if #list == 1 then
      return list[1].play
   end
   local again, current = false, nil
   function sysbench.hooks.before_restart_event()
      again = true
   end
   return function()
      if not again then
         current = draw()
      end
      again = false
      user.file = current.file
      dyno.transaction(current.name)
      current.play()
   end
end

return scripts
