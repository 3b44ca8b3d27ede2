//! Streaks: events that wait for nothing, one after the other.

use super::*;
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::script::Ended;

/// Numbers its events, and does something in each.
fn script(rest: &str) -> String {
    with_connection(&format!(
        "n = 0
        function event()
          n = n + 1
          dyno.count('n')
          dyno.transaction(n % 2 == 0 and 'even' or 'odd')
          {rest}
        end"
    ))
}

/// A streak's last step, and the events before it.
fn streak(rest: &str, delay_ns: u64, last_ns: u64) -> (Result<Step, Error>, Vec<Ended>, User) {
    let folder = Folder::new();
    let mut plan = folder.plan(&script(rest));
    plan.session = Session::Null { delay_ns };
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    play(&mut user, "thread_init").unwrap();
    user.allow_rests(None);
    user.set_streak_last_ns(last_ns);
    let step = play(&mut user, "event");
    let ended = std::iter::from_fn(|| user.next_ended()).collect();
    (step, ended, user)
}

fn counted_by(user: &User) -> u64 {
    user.counters()["n"]
}

#[test]
fn room_for_transaction_types_is_made_for_scripts_that_speak_of_them() {
    let folder = Folder::new();
    for (text, expects) in [(script(""), true), ("function event() end".to_owned(), false)] {
        let mut user = User::load(&folder.plan(&text), &IDENTITY).unwrap();
        assert_eq!(user.prepare_transactions(), expects, "{text}");
        assert_eq!(user.transaction_names(), [""]);
    }
}

#[test]
fn events_that_wait_for_nothing_follow_each_other() {
    let began_ns = now_ns();
    let (step, ended, user) = streak("con:query('SELECT 1')", 0, began_ns + 60 * SECOND_NS);
    assert_eq!((ended.len(), counted_by(&user)), (40, 41));
    assert!(ended.is_sorted_by_key(|it| it.at_ns));
    assert!(ended[0].at_ns >= began_ns && ended[ended.len() - 1].at_ns <= now_ns());
    for (number, it) in (1..).zip(&ended) {
        let name = &user.transaction_names()[it.transaction];
        assert_eq!(name, if number % 2 == 0 { "even" } else { "odd" });
    }
    assert!(matches!(step, Ok(Step::Done { more: true, .. })));
}

#[test]
fn none_begins_after_the_time_that_was_said() {
    for last_ns in [0, 1, now_ns()] {
        let (step, ended, user) = streak("", 0, last_ns);
        assert_eq!((ended.len(), counted_by(&user)), (0, 1));
        assert!(matches!(step, Ok(Step::Done { more: true, .. })));
    }
}

#[test]
fn an_event_that_waits_is_the_last_of_its_streak() {
    let far_ns = now_ns() + 60 * SECOND_NS;
    let (step, ended, user) = streak("if n == 3 then con:query('SELECT 1') end", 20_000, far_ns);
    assert_eq!((ended.len(), counted_by(&user)), (2, 3));
    assert!(matches!(step, Ok(Step::Done { more: true, .. })));
}

#[test]
fn an_event_that_rests_is_the_last_of_its_streak() {
    let far_ns = now_ns() + 60 * SECOND_NS;
    let (step, ended, mut user) = streak("if n == 3 then dyno.rest(0.5) end", 0, far_ns);
    assert_eq!((ended.len(), counted_by(&user)), (2, 3));
    assert_eq!((user.take_rest_ns(), user.take_rest_ns()), (SECOND_NS / 2, 0));
    assert!(matches!(step, Ok(Step::Done { more: true, .. })));
}

#[test]
fn a_rest_takes_seconds_from_0_on() {
    for (wrong, named) in [
        ("-1", "not -1"),
        ("0/0", "not nan"),
        ("1/0", "not inf"),
        ("'1'", "not 1"),
        ("nil", "not nil"),
    ] {
        let (step, _, mut user) = streak(&format!("dyno.rest({wrong})"), 0, 0);
        let error = step.unwrap_err().to_string();
        assert!(
            error.contains("dyno.rest takes seconds from 0 on") && error.contains(named),
            "{error}"
        );
        assert_eq!(user.take_rest_ns(), 0);
    }
    let (step, _, mut user) = streak("dyno.rest(1e300)", 0, 0);
    assert!(step.is_ok() && user.take_rest_ns() == 100_000_000 * SECOND_NS);
}

#[test]
fn what_came_before_the_end_or_an_error_has_ended_well() {
    let far_ns = now_ns() + 60 * SECOND_NS;
    let (step, ended, user) = streak("return n == 3", 0, far_ns);
    assert_eq!((ended.len(), counted_by(&user)), (2, 3));
    assert!(matches!(step, Ok(Step::Done { more: false, .. })));
    let (step, ended, user) = streak("if n == 3 then error('enough') end", 0, far_ns);
    assert_eq!((ended.len(), counted_by(&user)), (2, 2));
    assert!(step.unwrap_err().to_string().contains("enough"));
}

#[test]
fn a_script_may_declare_the_clock_itself() {
    let declares = "if n == 1 then
        ffi.cdef('struct timespec { long tv_sec; long tv_nsec; };\
                  int clock_gettime(int clock, struct timespec *now);')
        end
        assert(ffi.C.clock_gettime(1, ffi.new('struct timespec')) == 0)
        return n == 3";
    let (step, ended, _) = streak(declares, 0, now_ns() + 60 * SECOND_NS);
    assert_eq!((step.is_ok(), ended.len()), (true, 2));
}

#[test]
fn garbage_is_collected_when_it_has_grown_to_half_of_what_is_alive() {
    let folder = Folder::new();
    let plan = folder.plan(&script("dyno.count('pause', collectgarbage('setpause', 150))"));
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    play(&mut user, "thread_init").unwrap();
    play(&mut user, "event").unwrap();
    assert_eq!(user.counters()["pause"], 150);
}

/// How many pieces of streaks LuaJIT compiles in a fresh state.
fn traces() -> u64 {
    let event = "rows = 0
        jit.attach(function(what) if what == 'stop' then dyno.count('traces') end end, 'trace')
        function event()
          rows = rows + 1
          row = '(' .. rows .. ',' .. rows .. ')'
        end";
    let folder = Folder::new();
    let mut user = User::load(&folder.plan(event), &IDENTITY).unwrap();
    for _ in 0..4_000 {
        user.set_streak_last_ns(now_ns() + 10_000);
        play(&mut user, "event").unwrap();
        while user.next_ended().is_some() {}
    }
    user.counters()["traces"]
}

/// Which pieces those are hangs on addresses, on draws of LuaJIT's own and on when a streak happens
/// to end. With a loop of their own streaks came in 80 to 180 pieces in most states.
#[test]
fn streaks_of_a_small_event_are_compiled_in_few_pieces() {
    let mut found: Vec<u64> = (0..12).map(|_| traces()).collect();
    found.sort_unstable();
    assert!((1..80).contains(&found[0]) && found[9] < 80, "{found:?}");
}
