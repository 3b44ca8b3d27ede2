-- A transaction of ten point selects, four range queries, two updates, a delete and an insert
-- per event.
-- title: read-write transactions

local oltp = require("_oltp")

local kinds = {"point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges",
  "index_updates", "non_index_updates", "delete_inserts"}

oltp.workload({
  kinds = kinds,
  options = {"range_size", "skip_trx", unpack(kinds)},
  transaction = true,
  writes = true,
})
