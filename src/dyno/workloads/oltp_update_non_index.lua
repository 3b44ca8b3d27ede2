-- One update of an unindexed column by primary key per event.
-- title: update a column without an index

local oltp = require("_oltp")

oltp.workload({kinds = {"non_index_updates"}, writes = true, sums_k = true})
