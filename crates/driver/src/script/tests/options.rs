//! Options of a script and of everyone.

use super::*;

const SCRIPT: &str = "-- Plays nothing.
-- It only declares.

sysbench.cmdline.options = {
   table_size = {'Rows', 1000},
   ['dash-ed'] = {'A text', 'x'},
   flag = {'A switch', false},
   list = {'Names', {'a', 'b'}},
   whole = {'Whole', 3, sysbench.cmdline.ARG_INT},
   bytes = {'Size', '1M', sysbench.cmdline.ARG_SIZE},
   unset = {'Nothing by default'},
}
early = sysbench.opt.table_size
function event()
   local opt = sysbench.opt
   assert(early == opt.table_size and type(opt.table_size) == 'number')
   dyno.count('n', opt.table_size)
   seen = table.concat({opt.dash_ed, opt['dash-ed'], tostring(opt.flag),
      table.concat(opt.list, '+'),
  opt.whole, tostring(opt.bytes), tostring(opt.unset), opt.rand_type, opt.threads}, ' ')
   assert(seen == expected(), seen)
end\n";

fn run(options: &[(&str, &str)], expected: &str) -> Result<u64, Error> {
    let folder = Folder::new();
    let mut plan = folder.plan(&format!("{SCRIPT}function expected() return '{expected}' end"));
    let options = options.iter().map(|(name, text)| (name.to_string(), text.to_string()));
    plan.script.options = options.collect();
    Ok(started(&plan)?.1.counters()["n"])
}

#[test]
fn defaults_give_the_types_and_dashes_are_underscores() {
    assert_eq!(run(&[], "x x false a+b 3 1M nil special 1").unwrap(), 1000);
    let set = [
        ("table-size", "2e3"),
        ("dash_ed", "y z"),
        ("flag", "on"),
        ("list", "c, d,e"),
        ("whole", "-4"),
        ("bytes", "2k"),
        ("unset", "now"),
        ("rand-type", "zipfian"),
    ];
    assert_eq!(run(&set, "y z y z true c+d+e -4 2048 now zipfian 1").unwrap(), 2000);
}

#[test]
fn what_is_unknown_or_of_another_type_is_refused() {
    for (name, text, message, hint) in [
        ("table_siz", "1", "unknown option 'table_siz'", "did you mean table_size?"),
        ("table_size", "many", "option table_size is not a number: \"many\"", "\"1000\""),
        ("table_size", "nan", "option table_size is not a number: \"nan\"", "\"1000\""),
        ("whole", "1.5", "option whole is not a whole number: \"1.5\"", "\"3\""),
        ("nothing_like_it", "1", "unknown option 'nothing_like_it'", "known: arrivals, "),
        ("flag", "maybe", "option flag is not on or off: \"maybe\"", "\"off\""),
        ("rand_type", "zipf", "unknown value of option rand_type 'zipf'", "zipfian"),
    ] {
        let failure = run(&[(name, text)], "").unwrap_err().failure(None);
        assert_eq!(failure.blame, "user");
        assert_eq!(failure.message, message);
        assert!(failure.hint.contains(hint), "{failure:?}");
    }
}

#[test]
fn a_general_option_out_of_range_is_refused_before_anything_is_played() {
    for (name, text, hint) in [
        ("threads", "0", "1 to 65536"),
        ("threads", "1000000", "1 to 65536"),
        ("time", "-5", "0 or more"),
        ("rate", "-1", "0 or more"),
    ] {
        let folder = Folder::new();
        let mut plan = folder.plan(SCRIPT);
        plan.script.options.insert(name.into(), text.into());
        let failure = describe(&plan).unwrap_err().failure(None);
        assert_eq!(failure.message, format!("option {name} is out of range: {text}"));
        assert_eq!(failure.hint, hint);
    }
}

#[test]
fn a_description_lists_all_with_their_owners() {
    let folder = Folder::new();
    let mut plan = folder.plan(SCRIPT);
    plan.script.options.insert("table-size".into(), "5".into());
    let told = describe(&plan).unwrap();
    assert_eq!(told.summary, "Plays nothing.\nIt only declares.");
    let option = |name: &str| told.options.iter().find(|it| it.name == name).unwrap().clone();
    let size = option("table_size");
    assert_eq!((size.default.as_str(), size.value.as_str()), ("1000", "5"));
    assert_eq!((size.help.as_str(), size.owner.as_str()), ("Rows", "script"));
    assert_eq!(option("flag").default, "off");
    assert_eq!(option("list").value, "a,b");
    let rand_type = option("rand_type");
    assert_eq!((rand_type.value.as_str(), rand_type.owner.as_str()), ("special", "general"));
    assert_eq!(told.commands, ["run"]);
}
