//! A connection that is made anew in one go keeps its worker's other users waiting, which is told.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::{count, plan, play};
use crate::hostile::mysql_hello;

/// How late the server greets whoever comes after the first users.
const LATE: Duration = Duration::from_millis(300);

/// A server that greets so many at once, and each further one late; its port.
fn greet_late_after(first: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        let [greeting, welcome] = mysql_hello();
        for peer in listener.incoming() {
            let mut peer = peer.unwrap();
            if open.len() >= first {
                std::thread::sleep(LATE);
            }
            let greeted = peer.write_all(&greeting).and_then(|()| peer.read(&mut [0; 4096]));
            greeted.and_then(|_| peer.write_all(&welcome)).unwrap();
            open.push(peer);
        }
    });
    port
}

/// A phase of so many users of one worker, of whom one connects anew, which takes 300 ms.
fn reconnect_beside(users: usize) -> Value {
    let script = format!(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          if sysbench.tid == 0 then con:reconnect() end
        end
        local stop = {{ kind = "count", events = {users} }}
        dyno.phases = function() return {{ {{ name = "p", stop = stop,
          streams = {{ {{ name = "s", run = "event", connections = {users} }} }} }} }} end"#
    );
    let mut plan = plan(&script, 0);
    plan["session"] = json!({
        "kind": "mysql", "host": "127.0.0.1", "port": greet_late_after(users), "user": "ann",
        "password": null, "database": "d", "tls": { "mode": "disable", "ca": null }, "settings": [],
    });
    let output = play(&plan);
    assert_eq!(output.code, 0, "{:?}", output.events);
    assert_eq!(count(output.tally("p", 0), "reconnected"), 1);
    output.done("p").clone()
}

#[test]
fn a_connection_made_anew_keeps_the_workers_other_users_waiting_which_is_told() {
    let beside_another = reconnect_beside(2);
    let [own_ns, longest_ns] =
        ["held_up_ns", "held_up_ns_max"].map(|it| count(&beside_another, it));
    let late_ns = LATE.as_nanos() as u64;
    assert!(own_ns >= late_ns && longest_ns >= late_ns, "{own_ns} {longest_ns}");
    // who is alone keeps nobody waiting
    assert_eq!(count(&reconnect_beside(1), "held_up_ns"), 0);
}
