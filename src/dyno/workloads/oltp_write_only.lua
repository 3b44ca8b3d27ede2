-- A transaction of two updates, a delete and an insert per event.
-- title: write-only transactions

local oltp = require("_oltp")

local kinds = {"index_updates", "non_index_updates", "delete_inserts"}

oltp.workload({
  kinds = kinds,
  options = {"skip_trx", unpack(kinds)},
  transaction = true,
  writes = true,
})
