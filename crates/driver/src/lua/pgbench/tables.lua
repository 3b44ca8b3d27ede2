-- The tables of `pgbench -i`: branches, tellers, accounts, and a history to be filled.
local tables = {}

local TELLERS, ACCOUNTS = 10, 100000 -- for each branch
local WIDE_SCALE = 20000            -- from here on, accounts are numbered beyond 2^31

-- Where the engine makes rows by itself, keys come after the load, as in pgbench.
local function makes_rows()
   return dyno.engine == "postgres"
end

local function columns(scale)
   local aid = scale >= WIDE_SCALE and "bigint" or "int"
   return {
      { "pgbench_history", "tid int, bid int, aid " .. aid
         .. ", delta int, mtime timestamp, filler char(22)" },
      { "pgbench_tellers", "tid int not null, bid int, tbalance int, filler char(84)", "tid",
         count = TELLERS * scale, row = "(%d,%d,0)", into = "(tid,bid,tbalance)", per = TELLERS },
      { "pgbench_accounts", "aid " .. aid .. " not null, bid int, abalance int, filler char(84)",
         "aid", count = ACCOUNTS * scale, row = "(%d,%d,0,'')", per = ACCOUNTS,
         into = "(aid,bid,abalance,filler)" },
      { "pgbench_branches", "bid int not null, bbalance int, filler char(88)", "bid",
         count = scale, row = "(%d,0)", into = "(bid,bbalance)", per = 1 },
   }
end

-- The same row format, reckoned by the server from generate_series.
local function insert_select(con, of)
   local cells = of.row:gsub("[()]", ""):gsub("%%d", "i", 1)
      :gsub("%%d", ("(i - 1) / %d + 1"):format(of.per))
   con:query(("insert into %s %s select %s from generate_series(1, %d) as i"):format(of[1], of.into,
      cells, of.count))
end

local function insert_rows(con, of)
   con:query("BEGIN")
   con:bulk_insert_init(("insert into %s %s values"):format(of[1], of.into))
   for i = 1, of.count do
      con:bulk_insert_next(of.row:format(i, math.floor((i - 1) / of.per) + 1))
   end
   con:bulk_insert_done()
   con:query("COMMIT")
end

function tables.make(con, scale)
   local on_server = makes_rows()
   for _, of in ipairs(columns(scale)) do
      local key = of[3] and not on_server and (", primary key (%s)"):format(of[3]) or ""
      con:query(("create table %s (%s%s)"):format(of[1], of[2], key))
      if of.count then
         (on_server and insert_select or insert_rows)(con, of)
      end
   end
   if on_server then
      for _, of in ipairs(columns(scale)) do
         con:query("vacuum analyze " .. of[1])
         if of[3] then
            con:query(("alter table %s add primary key (%s)"):format(of[1], of[3]))
         end
      end
   end
end

function tables.drop(con)
   for _, of in ipairs(columns(1)) do
      con:query("drop table if exists " .. of[1])
   end
end

return tables
