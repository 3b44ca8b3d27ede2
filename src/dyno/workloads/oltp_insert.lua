-- One row inserted per event, as text; the tables grow.
-- title: insert a row

local oltp = require("_oltp")

oltp.workload({kinds = {"inserts"}, writes = true, drifts = true, sums_k = true})
