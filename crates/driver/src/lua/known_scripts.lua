-- sysbench's own scripts (1.0.20), whose `event` is known to the last call: the driver plays it as
-- a declared event, with the script's own prepared statements. What is sent, in which order and
-- with which random numbers is the same, and so is the place that an error names. A script is known
-- by its text, so that one which somebody changed stays Lua; `oltp_insert` does, whose errors show
-- the text with its values.
local raw, identity, raise = ...
local loadstring, opt = loadstring, sysbench.opt

local COMMON = "710c3b38027668c83e46f3c0814dc7cfd67cc8c4012df6cab461e46d62b5996a"

local POINTS = { "point_selects" }
local RANGES = { "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges" }
local WRITES = { "index_updates", "non_index_updates", "delete_inserts" }

-- By the text's SHA-256 without a first line for the shell: what an event plays.
local EVENTS = {
   -- oltp_delete
   ["0f66a3cc6547269619a8db8ea660b4764b26facdf8db234583d93d0a9d16c74b"] = { { "deletes" } },
   -- oltp_point_select
   ["a8df447935502a9cd6f9cbf11e91e1403afc14776af2d795e6c25790a786307b"] = { POINTS },
   -- oltp_read_only
   ["2e85a293465743ec51947ea643b8e506c5e55a65004e178292c730fe59361917"] = { POINTS, RANGES,
      transaction = true },
   -- oltp_read_write
   ["7896a91b452a24e70ccf96809649c64172f73ae515531fa1c0cd2336d16de9b4"] = { POINTS, RANGES, WRITES,
      transaction = true },
   -- oltp_update_index
   ["ee08292a90b002de58c5e0240a4c675462b568d88d5c0ddb56bc522220e663a5"] = { { "index_updates" } },
   -- oltp_update_non_index
   ["9f802610b8f38d1b1390ad06cfccbc5f9b7462404968fb4039a3965474d7c65d"] = {
      { "non_index_updates" } },
   -- oltp_write_only
   ["e06be71d5aacf5fbd96db871247e9097307cad5f255f8358aa2c9b801e1a729f"] = { WRITES,
      transaction = true },
}

-- The line of oltp_common.lua that executes each statement; that of oltp_delete.lua.
local LINES = { begin = 405, commit = 409, point_selects = 419, simple_ranges = 432,
   sum_ranges = 432, order_ranges = 432, distinct_ranges = 432, index_updates = 458,
   non_index_updates = 469, deletes = 487, inserts = 488 }
local DELETE_LINE = 33

local GROUPS = { "###########-###########", "-###########-###########" }
local C = GROUPS[1] .. GROUPS[2]:rep(4)
local PAD = GROUPS[1] .. GROUPS[2] .. "-###########"

local function draw_id()
   return dyno.rand.default(1, opt.table_size)
end

-- What a kind plays on a table, by its prepared statements; all others read or change by an id.
local BUILDERS = {
   non_index_updates = function(made)
      return { made.non_index_updates, dyno.rand.string(C), draw_id() }
   end,
   delete_inserts = function(made)
      local id = draw_id()
      return { { made.deletes, id },
         { made.inserts, id, draw_id(), dyno.rand.string(C), dyno.rand.string(PAD) } }
   end,
}
for _, kind in ipairs(RANGES) do
   BUILDERS[kind] = function(made)
      local first = draw_id()
      return { made[kind], first, first + (opt.range_size - 1) }
   end
end

local function build_kind(kind)
   local tables = {}
   for number = 1, opt.tables do
      local made = stmt[number]
      tables[number] = BUILDERS[kind] and BUILDERS[kind](made) or { made[kind], draw_id() }
      tables[number].times = opt[kind] or 1
   end
   -- sysbench draws a number of one table, too.
   tables[2] = tables[2] or tables[1]
   return dyno.one_of(tables)
end

local function build_items(kinds)
   local items, is_transaction = {}, kinds.transaction and not opt.skip_trx
   items[1] = is_transaction and { stmt.begin } or nil
   for _, group in ipairs(kinds) do
      for _, kind in ipairs(group ~= RANGES and group or opt.range_selects and group or {}) do
         items[#items + 1] = build_kind(kind)
      end
   end
   items[#items + 1] = is_transaction and { stmt.commit } or nil
   return items
end

-- Statements that a lost connection took along are prepared anew, and a declared event has the old
-- ones.
local function may_connect_anew()
   local is_given = identity.options.mysql_ignore_errors ~= nil
   for _, number in ipairs(is_given and opt.mysql_ignore_errors or {}) do
      if number == "all" or ("2006 2011 2013 2055"):find(number, 1, true) then
         return true
      end
   end
   return false
end

-- Loops and cells cut what is not whole, each in its way.
local function has_fractions()
   for name in pairs(sysbench.cmdline.options) do
      local value = opt[name]
      if type(value) == "number" and value % 1 ~= 0 then
         return true
      end
   end
   return false
end

-- Throws from the line that executes the statement, as the script itself would.
local function raise_at_line(kinds, con, statement)
   local file, line = "oltp_common.lua", LINES.begin
   for name, at in pairs(LINES) do
      for number = 1, opt.tables do
         line = (stmt[name] or stmt[number][name]) == statement and at or line
      end
   end
   if kinds[1][1] == "deletes" then
      file, line = "oltp_delete.lua", DELETE_LINE
   end
   local text = ("\n"):rep(line - 1) .. "local raise = ... raise(select(2, ...)) return"
   loadstring(text, "@" .. file)(raise, con, statement)
end

-- Declares the event of a script that is known by its texts, all that were loaded.
function raw.declare_known(texts)
   local kinds = #texts == 2 and EVENTS[raw.digest((texts[1]:gsub("^#![^\n]*\n", "")))]
   if not kinds or raw.digest(texts[2]) ~= COMMON or opt.table_size >= 2 ^ 32
      or may_connect_anew() or has_fractions()
   then
      return
   end
   event = dyno.event(function() return build_items(kinds) end)
   event.raise = function(con, statement) raise_at_line(kinds, con, statement) end
end
