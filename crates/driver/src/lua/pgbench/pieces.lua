-- A pgbench file in pieces: SQL commands and \meta commands, each with its line. What SQL takes for
-- text (quotes, dollar quotes, comments, brackets) is passed over as psql does.
local raw, identity = ...
local pieces = {}

-- What a quote or comment may begin with.
local OPENERS = "^['\"`$#]"
local LONGER = { ["/"] = "^/%*", ["-"] = "^%-%-", e = "^e'", E = "^E'" }

-- The end of the quote or comment at `at`, and what a comment leaves of itself in SQL; nil where
-- the text is plain.
local function lump(text, at, is_mysql)
   local longer = LONGER[text:sub(at, at)]
   if not text:find(longer or OPENERS, at) then
      return nil
   end
   local stop, is_comment, is_closed = raw.passage(text, at, is_mysql)
   if stop and not is_closed then
      if text:sub(at, at) == "$" then
         return nil
      end
      local what = is_comment and "/* comment" or "quoted string"
      error({ at = at, "unterminated " .. what }, 0)
   end
   local is_block = is_comment and text:sub(at, at) == "/"
   return stop, is_comment and (is_block and text:sub(at, stop - 1) or "") or nil
end

-- Lines are counted on from where they were asked for last: a long file is read once.
local counted = { text = nil, at = 1, line = 1 }

local function line_of(text, at)
   if counted.text ~= text or at < counted.at then
      counted.text, counted.at, counted.line = text, 1, 1
   end
   local _, lines = text:sub(counted.at, at - 1):gsub("\n", "")
   counted.at, counted.line = at, counted.line + lines
   return counted.line
end

-- A meta command: from its backslash to the end of the line, which a backslash continues.
local function meta(text, at)
   local stop = at
   repeat
      stop = text:find("\n", stop + 1, true) or #text + 1
      local continues = text:sub(stop - 1, stop - 1) == "\\"
         or text:sub(stop - 2, stop - 1) == "\\\r"
   until not continues or stop > #text
   local whole = text:sub(at + 1, stop - 1):gsub("\\\r?\n", " ")
   local name, rest = whole:match("^(%S*)%s*(.-)%s*$")
   return { name = name:lower(), rest = rest, text = text:sub(at, stop - 1):match("^(.-)%s*$"),
      line = line_of(text, at) }, stop
end

-- A comment that fills its line and is a mark: `-- word: value`, or `-- :name = value`.
local function mark_of(comment, text, at)
   if not text:sub(math.max(1, at - 200), at - 1):find("^%s*$") and
      not text:sub(math.max(1, at - 200), at - 1):find("\n[ \t]*$") then
      return nil
   end
   return comment:match("^%-%-%s*(:.-=.-)%s*$")
      or comment:find("^%-%-%s*[%a_]+:%s") and comment:match("^%-%-%s*(.-)%s*$")
      or comment:match("^%-%-%s*([%a_]+:)$")
end

-- Splits a text; `is_mysql`: by MySQL's rules of quoting. An SQL piece is `{sql = {…}}`:
-- its parts in turn, plain text and {lump = text} for what is quoted. With `marks` a quoted text
-- holds no variables, and marks are pieces: `{mark = text}`.
function pieces.of(text, is_mysql, marks)
   local found, parts, began, plain_from = {}, {}, nil, 1
   local at, depth = 1, 0
   local function keep(upto)
      if upto >= plain_from then
         parts[#parts + 1] = text:sub(plain_from, upto)
      end
   end
   local function finish(stop)
      keep(stop - 1)
      if began then
         found[#found + 1] = { sql = parts, line = line_of(text, began),
            text = text:sub(began, stop):match("^[^\n]*"):match("^(.-)%s*\\?$") }
      end
      parts, began, depth = {}, nil, 0
   end
   while at <= #text do
      local c = text:sub(at, at)
      local stop, comment = lump(text, at, is_mysql)
      if stop then
         keep(at - 1)
         local mark = marks and comment and mark_of(text:sub(at, stop - 1), text, at)
         if mark and began then
            error({ at = at, "a mark is inside a statement: -- " .. mark }, 0)
         end
         found[#found + 1] = mark and { mark = mark, line = line_of(text, at) }
         parts[#parts + 1] = { lump = comment or text:sub(at, stop - 1),
            is_comment = comment ~= nil, is_text = marks }
         began = began or comment == nil and at or nil
         at, plain_from = stop, stop
      elseif c == ";" and depth == 0 then
         finish(at)
         at, plain_from = at + 1, at + 1
      elseif c == "\\" and text:find("^[;:]", at + 1) then
         keep(at - 1)
         parts.is_compound = parts.is_compound or text:find("^;", at + 1) ~= nil
         at, plain_from = at + 2, at + 1
      elseif c == "\\" then
         finish(at)
         found[#found + 1], at = meta(text, at)
         plain_from = at
      else
         depth = depth + (c == "(" and 1 or c == ")" and depth > 0 and -1 or 0)
         began = began or not c:find("%s") and at or nil
         at = at + 1
      end
   end
   finish(#text + 1)
   return found
end

-- ---- files in pieces, with their errors' places -----------------------------------------------

-- A file's text; its path may begin at the script's folder. `what`: what it is to be, in an error.
local function read(path, what, hint)
   local is_absolute = path:sub(1, 1) == "/"
   local file, problem = io.open(is_absolute and path or identity.folder .. "/" .. path, "rb")
   if file == nil then
      raw.fail(("cannot read the %s: %s"):format(what, problem), hint or "")
   end
   local text = file:read("*a")
   file:close()
   return text
end

local function pieces_of(text, file, marks)
   local ok, found = pcall(pieces.of, text, dyno.dialect == "mysql", marks)
   if not ok and type(found) ~= "table" then
      error(found, 0)
   elseif not ok then
      local at, problem = found.at, found[1]
      error(("%s:%d: %s"):format(file, line_of(text, at), problem), 0)
   end
   return found
end

return pieces_of, read
