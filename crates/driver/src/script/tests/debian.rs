//! The runnable scripts of Debian's package `sysbench`, unmodified.

use std::io::Write;

use super::*;

const SCRIPTS: [&str; 11] = [
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
];

/// Debian's package `sysbench`, or its unpacked tree; absent on most machines.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("SYSBENCH_SCRIPTS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| PathBuf::from("/usr/share/sysbench"));
    folder.join("oltp_common.lua").is_file().then_some(folder)
}

/// Says so past the harness's capture, because nobody reads what a passing test prints.
fn skipped() {
    let missing = "NOT TESTED: the scripts of Debian's package sysbench (apt-get install sysbench, \
                   or set SYSBENCH_SCRIPTS to its /usr/share/sysbench)";
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    writeln!(std::io::stderr(), "{missing}").unwrap();
}

fn command(plan: &Plan, command: &str, events: u32) -> Result<(), Error> {
    let seat = Seat { command, phase: command, ..SEAT };
    let mut user = User::load(plan, &seat)?;
    if command != "run" {
        return play(&mut user, command).map(drop);
    }
    play(&mut user, "thread_init")?;
    for _ in 0..events {
        assert_eq!(play(&mut user, "event")?, DONE);
    }
    play(&mut user, "thread_done").map(drop)
}

fn play_all(mut plan: Plan, scripts: &Path, name: &str) -> Result<(), Error> {
    plan.script.path = scripts.join(name).with_extension("lua");
    if name != "bulk_insert" {
        plan.script.options.insert("table-size".into(), "200".into());
    }
    describe(&plan)?;
    command(&plan, "prepare", 0)?;
    command(&plan, "run", 30)?;
    command(&plan, "cleanup", 0)
}

#[test]
fn the_packages_scripts_run_unmodified() {
    let Some(scripts) = folder() else {
        skipped();
        return;
    };
    for name in SCRIPTS {
        let folder = Folder::new();
        play_all(sqlite(&folder, ""), &scripts, name).unwrap();
        play_all(folder.plan(""), &scripts, name).unwrap();
        let mut late = folder.plan("");
        late.session = Session::Null { delay_ns: 1000 };
        play_all(late, &scripts, name).unwrap();
    }
}
