-- sysbench.rand: random numbers and texts from the driver's reproducible streams.
local raw = ...

sysbench.rand = {
   default = raw.rand_default,
   uniform = raw.rand_uniform,
   gaussian = raw.rand_gaussian,
   special = raw.rand_special,
   pareto = raw.rand_pareto,
   zipfian = raw.rand_zipfian,
   unique = raw.rand_unique,
   string = raw.rand_string,
   varstring = raw.rand_varstring,
   uniform_double = raw.rand_uniform_double,
}

function sysbench.rand.uniform_uint64()
   return ffi.cast("uint64_t", raw.rand_uint32()) * 4294967296ULL + raw.rand_uint32()
end

sb_rand = sysbench.rand.default
sb_rand_uniform = sysbench.rand.uniform
sb_rand_gaussian = sysbench.rand.gaussian
sb_rand_special = sysbench.rand.special
sb_rand_pareto = sysbench.rand.pareto
sb_rand_zipfian = sysbench.rand.zipfian
sb_rand_uniq = sysbench.rand.unique
sb_rand_str = sysbench.rand.string
