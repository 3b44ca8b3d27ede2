-- sysbench.histogram: counts of values in ranges of equal ratio, printed as bars.
local floor, log, exp = math.floor, math.log, math.exp

sysbench.histogram = {}

local histogram = {}
histogram.__index = histogram
histogram.__tostring = function() return "<sb_histogram>" end

-- `size` ranges from `least` to `most`; what lies outside counts in the first or the last.
function sysbench.histogram.new(size, least, most)
   local first = log(least)
   local per_step = (size - 1) / (log(most) - first)
   return setmetatable({ size = size, first = first, per_step = per_step, least = least,
      most = most, counts = {} }, histogram)
end

function histogram:update(value)
   value = math.min(math.max(value, self.least), self.most)
   local at = floor((log(value) - self.first) * self.per_step + 0.5)
   self.counts[at] = (self.counts[at] or 0) + 1
end

local WIDTH = 40

function histogram:print()
   local highest = 0
   for _, count in pairs(self.counts) do
      highest = math.max(highest, count)
   end
   print("       value  ------------- distribution ------------- count")
   for at = 0, self.size - 1 do
      local count = self.counts[at]
      if count then
         local bar = ("*"):rep(floor(count / highest * WIDTH + 0.5))
         print(("%12.3f |%-40s %d"):format(exp(at / self.per_step + self.first), bar, count))
      end
   end
end
