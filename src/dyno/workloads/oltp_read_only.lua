-- A transaction of ten point selects and four range queries per event.
-- title: read-only transactions

local oltp = require("_oltp")

local kinds = {"point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"}

oltp.workload({
  kinds = kinds,
  options = {"range_size", "skip_trx", unpack(kinds)},
  transaction = true,
})
