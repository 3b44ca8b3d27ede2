//! SQLite, any library of it, opened by path.

use super::Session;
use crate::error::Error;
use crate::plan;

/// Opens the library and the database that the plan names.
pub fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let _ = session;
    Err(Error::driver("sessions/sqlite.rs is not built yet"))
}
