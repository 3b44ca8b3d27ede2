//! A connection's prepared statements by handle.

use crate::plan::error::Error;

/// Prepared statements of any session; the handles of closed ones are given anew.
pub struct Statements<S> {
    slots: Vec<Option<S>>,
    free: Vec<u32>,
}

impl<S> Default for Statements<S> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<S> Statements<S> {
    /// Keeps a statement and answers its handle.
    pub fn keep(&mut self, statement: S) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = Some(statement);
            return handle;
        }
        self.slots.push(Some(statement));
        self.slots.len() as u32 - 1
    }

    /// Forgets a statement, where it is not closed.
    pub fn take(&mut self, handle: u32) -> Option<S> {
        let taken = self.slots.get_mut(handle as usize).and_then(Option::take)?;
        self.free.push(handle);
        Some(taken)
    }

    /// A statement, where it is not closed.
    #[inline]
    pub fn get(&self, handle: u32) -> Option<&S> {
        self.slots.get(handle as usize).and_then(Option::as_ref)
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, handle: u32) -> Option<&mut S> {
        self.slots.get_mut(handle as usize).and_then(Option::as_mut)
    }

    /// A statement to be executed; a closed one is the script's mistake.
    #[inline]
    pub fn open(&mut self, handle: u32) -> Result<&mut S, Error> {
        self.get_mut(handle).ok_or_else(|| Error::user("a closed statement was executed"))
    }

    /// All that are not closed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.slots.iter_mut().flatten()
    }
}
