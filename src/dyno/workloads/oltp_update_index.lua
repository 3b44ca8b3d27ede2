-- One update of an indexed column by primary key per event.
-- title: update an indexed column

local oltp = require("_oltp")

oltp.workload({kinds = {"index_updates"}, writes = true, sums_k = true})
