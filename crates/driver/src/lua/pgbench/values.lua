-- What the reader of a pgbench file asks of its words. Values are the driver's (script/pgbench).
local values = {}

function values.fail(message, ...)
   error(message:format(...), 0)
end

-- May a variable be called so?
function values.is_name(name)
   return name:find("^[%a_\128-\255][%w_\128-\255]*$") ~= nil
end

return values
