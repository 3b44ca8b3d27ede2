-- The tables of sysbench's own API, as scripts for sysbench 1.0 know it; the other texts here fill
-- them. Written against sysbench's documentation and the calls of scripts from the wild.
local seat = ...

-- LuaJIT opens its FFI library when it reads a 64-bit literal such as this, and `require("ffi")`
-- works then. A script could do the same: LuaJIT has no sandbox, and sysbench promises none.
local _ = 0ULL
ffi = require("ffi")

thread_id = seat.number

sysbench = {
   version = "1.0.20",
   tid = seat.number,
   hooks = {},
   error = { NONE = 0, FATAL = 1, RESTART_EVENT = 2, CONTINUE_EVENT = 3 },
}

sysbench.cmdline = {
   command = seat.command,
   script_path = seat.path,
   argv = {},
   commands = {},
   options = {},
   PARALLEL_COMMAND = true,
   ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3,
   ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8,
}

sysbench.sql = {
   error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
   type = {
      NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
      TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
   },
}
