-- One user of the insert benchmark and what it writes.

local sql = require("_insert_sql")
local rows = require("_insert_rows")

local RESYNC_EVENTS = 1000 -- events between two looks at the oldest and newest row

-- One user's connection and table, where the table's oldest and newest rows are, and what is not
-- yet reported.
local client = {inserted = 0, deleted = 0, events = 0}

local function end_of_keys(which)
  local key = client.con:query_row(sql.end_of_keys(client.table, which))
  return tonumber(key)
end

local function resync()
  client.first = end_of_keys("min") or 1
  client.last = end_of_keys("max") or 0
end

-- Every so often, since rows come and go at both ends. By then no key is far off, and the looks are
-- too rare to be seen in the 99th percentile.
function client.count_event()
  client.events = client.events + 1
  if client.events % RESYNC_EVENTS == 0 then
    resync()
  end
end

-- Counts outlive a failed event: each statement commits by itself, so an insert stays done when
-- the delete after it fails.
function client.report_counts()
  dyno.count("inserted", client.inserted)
  dyno.count("deleted", client.deleted)
  client.inserted, client.deleted = 0, 0
end

function client.insert(count)
  client.con:insert(sql.insert_into(client.table), count, client.rows, rows.date(client.last))
  client.last = client.last + count
  client.inserted = client.inserted + count
end

local function delete_rows(count)
  local answer = client.con:query(sql.delete(client.table, client.first, count))
  client.deleted = client.deleted + answer.nrows
  client.first = client.first + count
end

-- One event of a writer.
function client.write(count)
  client.count_event()
  client.insert(count)
  if sysbench.opt.delete_per_insert then
    delete_rows(count)
  end
  client.report_counts()
end

-- Connects, before the first event.
function client.open(table_name)
  client.con = sysbench.sql.driver():connect()
  client.table = table_name
  client.rows = rows.drawn()
  resync()
end

return client
