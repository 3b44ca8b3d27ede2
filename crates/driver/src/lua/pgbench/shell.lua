-- Programs that a pgbench file starts: \shell and \setshell, where the user allows them. Other
-- users of their thread play on meanwhile, which in pgbench wait.
local raw, values, user = ...

local shell = {}

local WORDS_MAX = 255 -- pgbench's

-- A word of the command: `:name` is a variable's value, `::` a colon.
local function word_of(word)
   local name = word:match("^:([^:].*)$")
   if name == nil then
      return (word:gsub("^::", ":", 1))
   end
   local value = user.variables[name]
   if value == nil then
      values.fail('undefined variable "%s"', word)
   end
   return value
end

-- What it prints belongs beside the driver's own words, never among them.
local function run(command)
   local output = user.client and sysbench.opt.shell_output or 2
   local status = os.execute(("{ %s\n} >&%d </dev/null"):format(command, output))
   if status ~= 0 and status ~= true then
      values.fail("(shell) execution of meta-command failed: %s", command)
   end
end

local function integer_of(command)
   local said = raw.output_of(("{ %s\n} </dev/null"):format(command))
   local line = said ~= "" and said:match("^[^\n]*") or nil
   local number = line and (line:match("^%s*([-+]?%d+)%s*$") or line:match("^%s*$") and "0")
   if line == nil then
      values.fail("(setshell) could not read result of shell command: %s", command)
   elseif number == nil then
      values.fail('(setshell) shell command must return an integer (not "%s")', line)
   end
   number = number:gsub("^+", "")
   if not raw.is_bigint(number) then
      values.fail('value "%s" is out of range for type bigint', number)
   end
   return number
end

-- A function that starts the program of a command's words; `answers`: and returns the integer that
-- it prints.
function shell.runner(text, answers)
   local words = {}
   for word in text:gmatch("%S+") do
      words[#words + 1] = word
   end
   if #words == 0 then
      values.fail(answers and "missing argument" or "missing command")
   elseif #words > WORDS_MAX - (answers and 1 or 0) then
      values.fail("too many arguments")
   elseif not sysbench.opt.allow_shell then
      values.fail("it would start a program: %s; the option allow_shell=on lets it", words[1])
   end
   raw.bring_pauses()
   local body = answers and integer_of or run
   return function()
      local said = {}
      for i, word in ipairs(words) do
         said[i] = word_of(word)
      end
      return body(table.concat(said, " "))
   end
end

return shell
