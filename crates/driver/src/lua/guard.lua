-- What a script may not do to the driver.
local raw = ...

-- stdout carries the driver's events.
function print(...)
   local texts = {}
   for i = 1, select("#", ...) do
      texts[i] = tostring((select(i, ...)))
   end
   io.stderr:write(table.concat(texts, "\t"), "\n")
end
io.stdout = io.stderr
io.output(io.stderr)

function os.exit(code)
   error(("the script called os.exit(%s)"):format(tostring(code)), 2)
end

debug = debug or { traceback = raw.traceback }
