//! Ending statements at their server that nobody waits for any more. Dropping a connection does not
//! do that: a server at work reads nothing, and what goes on there takes from the next phase.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::plan::error::Error;

/// Ends one statement, over a connection of its own.
pub type Canceller = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// A server that does not let us in is not waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Ends all these statements, and waits until their servers have heard of it, but not long. What
/// went wrong is told on stderr: nothing of what was measured hangs on it.
pub fn cancel_all(cancellers: Vec<Canceller>) {
    if cancellers.is_empty() {
        return;
    }
    let (sender, done) = channel();
    let cancel = move || {
        let failed = cancellers.into_iter().find_map(|cancel| cancel().err());
        // Whoever waited may have given up.
        let _ = sender.send(failed);
    };
    let spawned = std::thread::Builder::new().name("cancel".to_owned()).spawn(cancel);
    let failed = match spawned {
        Ok(_) => done
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| Some(Error::engine("the server has not answered for 3 s"))),
        Err(cause) => Some(Error::host("cannot start a thread").because(cause)),
    };
    if let Some(error) = failed {
        eprintln!("an unanswered statement may still run on its server: {error}");
    }
}
