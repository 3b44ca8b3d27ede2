//! Random numbers and texts, and a few other values.

use std::sync::atomic::Ordering;

use mlua::LuaString;

use super::Raw;

impl Raw<'_> {
    pub fn numbers(&self) -> mlua::Result<()> {
        self.add("rand_default", |_, it, (a, b)| Ok(it.rand.by_default(a, b)))?;
        self.add("rand_uniform", |_, it, (a, b)| Ok(it.rand.uniform(a, b)))?;
        self.add("rand_gaussian", |_, it, (a, b)| Ok(it.rand.gaussian(a, b)))?;
        self.add("rand_special", |_, it, (a, b)| Ok(it.rand.special(a, b)))?;
        self.add("rand_pareto", |_, it, (a, b)| Ok(it.rand.pareto(a, b)))?;
        self.add("rand_zipfian", |_, it, (a, b)| Ok(it.rand.zipfian(a, b)))?;
        self.add("rand_unique", |_, it, ()| Ok(it.rand.unique()))?;
        self.add("rand_uniform_double", |_, it, ()| Ok(it.rand.double()))?;
        self.add("rand_uint32", |_, it, ()| Ok(it.rand.word()))
    }

    pub fn texts(&self) -> mlua::Result<()> {
        self.add("rand_string", |lua, it, template: LuaString| {
            it.packed.clear();
            it.rand.string(&template.as_bytes(), &mut it.packed);
            lua.create_string(&it.packed)
        })?;
        self.add("rand_varstring", |lua, it, (least, most)| {
            it.packed.clear();
            it.rand.varstring(least, most, &mut it.packed);
            lua.create_string(&it.packed)
        })?;
        self.add("turn", |_, it, ()| Ok(it.turns.fetch_add(1, Ordering::Relaxed)))?;
        self.add("number_text", |_, _, number: f64| Ok(number.to_string()))?;
        self.add("transaction", |_, it, name: String| {
            it.transactions.push(name);
            Ok(it.transactions.len() - 1)
        })?;
        self.add("traceback", |lua, _, text: Option<LuaString>| {
            lua.traceback(text.map(|it| it.to_string_lossy()).as_deref(), 1)
        })
    }
}
