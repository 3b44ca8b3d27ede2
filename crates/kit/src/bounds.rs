//! What no call exceeds, whatever it is given: bytes of a result, memory, steps.
//!
//! A server has other sessions, so an allocation that fails is a fault and never the end of the
//! process: what grows with a call's input grows by `try_reserve`. What a library allocates
//! (bitmaps, trees) is asked for beforehand, by its bound, with `check_memory`.

use crate::fault::Fault;
use crate::interface::exported::is_killed;

/// No argument is larger, except the lines of `fb_load`.
pub const ARGUMENT_BYTES_MAX: usize = 64 << 20;
/// No result is larger: what a packet can hold at most is 1 GiB, and a server has other sessions.
pub const RESULT_BYTES_MAX: usize = 64 << 20;
/// Less than this is not asked for: a server that lacks it fails by itself.
const SMALL_BYTES: usize = 1 << 20;

/// The fault of a result that grew too large.
pub fn check_size(bytes: usize) -> Result<(), Fault> {
    if bytes > RESULT_BYTES_MAX {
        return Err("the result is larger than 64 MiB".into());
    }
    Ok(())
}

/// The fault of memory that the system refuses.
fn no_memory(bytes: usize) -> Fault {
    format!("the system refuses {} KiB of memory", bytes.div_ceil(1024)).into()
}

/// Whether the system would give so many bytes now; they are given back at once.
pub fn check_memory(bytes: usize) -> Result<(), Fault> {
    if bytes < SMALL_BYTES {
        return Ok(());
    }
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| no_memory(bytes))
}

/// Room for more in a vector, or a fault.
pub fn reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<(), Fault> {
    vector.try_reserve(more).map_err(|_| no_memory(more.saturating_mul(size_of::<T>())))
}

/// Appends an element, or fails where there is no memory.
pub fn push<T>(vector: &mut Vec<T>, element: T) -> Result<(), Fault> {
    if vector.len() == vector.capacity() {
        reserve(vector, 1)?;
    }
    vector.push(element);
    Ok(())
}

/// A copy, or a fault where there is no memory.
pub fn copied(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| no_memory(bytes.len()))?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Appends a piece of text, or fails where there is no memory.
pub fn push_text(text: &mut String, piece: &str) -> Result<(), Fault> {
    text.try_reserve(piece.len()).map_err(|_| no_memory(piece.len()))?;
    text.push_str(piece);
    Ok(())
}

/// A result while it is written: at most 64 MiB, looked at before each piece.
#[derive(Debug, Default)]
pub struct Output(Vec<u8>);

impl Output {
    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Back to a length that it had.
    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Appends a byte.
    pub fn push(&mut self, byte: u8) -> Result<(), Fault> {
        self.extend(&[byte])
    }

    /// Appends bytes; of a fault's none.
    pub fn extend(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        check_size(self.0.len().saturating_add(bytes.len()))?;
        reserve(&mut self.0, bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether there is room for so many more; they are appended to the vector that is handed out.
    pub fn room_for(&mut self, more: usize) -> Result<&mut Vec<u8>, Fault> {
        check_size(self.0.len())?;
        reserve(&mut self.0, more)?;
        Ok(&mut self.0)
    }
}

/// Whether the server lets the statement go on.
pub fn check_killed() -> Result<(), Fault> {
    #[cfg(test)]
    if tests::KILLED.get() {
        return Err(KILLED.into());
    }
    if is_killed() { Err(KILLED.into()) } else { Ok(()) }
}

const KILLED: &str = "the statement was killed";
/// After so many steps it is looked whether the statement was killed: some milliseconds.
const LOOK_STEPS: u64 = 1 << 16;

/// The steps that a call may still take, unless it is killed.
#[derive(Debug)]
pub struct Steps {
    left: u64,
    until_look: u64,
    fault: &'static str,
}

impl Steps {
    /// So many; `fault` is said of more.
    pub fn new(most: u64, fault: &'static str) -> Self {
        Self { left: most, until_look: LOOK_STEPS, fault }
    }

    /// As many as the input has: the loop ends with it.
    pub fn of_input() -> Self {
        Self::new(u64::MAX, "the input has no end")
    }

    /// Takes some.
    pub fn take(&mut self, steps: u64) -> Result<(), Fault> {
        self.left = self.left.checked_sub(steps).ok_or(self.fault)?;
        self.until_look = self.until_look.saturating_sub(steps);
        if self.until_look == 0 {
            self.until_look = LOOK_STEPS;
            check_killed()?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// What the server of a test says.
        pub static KILLED: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn memory_that_the_system_refuses_is_a_fault() {
        // no machine gives half of all addresses
        let huge = isize::MAX as usize / 2;
        assert!(check_memory(huge).is_err());
        assert!(reserve(&mut Vec::<u8>::new(), huge).is_err());
        assert!(check_memory(1 << 20).is_ok());
    }

    #[test]
    fn an_output_ends_at_its_bound_and_keeps_what_it_had() {
        let mut out = Output::default();
        let block = vec![b'x'; 1 << 20];
        (0..64).for_each(|_| out.extend(&block).unwrap());
        assert_eq!(out.push(b'x'), Err("the result is larger than 64 MiB".into()));
        assert_eq!(out.bytes().len(), RESULT_BYTES_MAX);
    }

    #[test]
    fn steps_end_soon_after_a_kill() {
        let mut steps = Steps::of_input();
        (0..10 * LOOK_STEPS).for_each(|_| steps.take(1).unwrap());
        KILLED.set(true);
        let taken = (0..=LOOK_STEPS).find(|_| steps.take(1).is_err());
        KILLED.set(false);
        assert!(taken.is_some());
    }

    #[test]
    fn steps_end() {
        let mut steps = Steps::new(3, "too far");
        assert_eq!(steps.take(3), Ok(()));
        assert_eq!(steps.take(1), Err("too far".into()));
    }
}
