//! Lines by number; numbers of closed ones are given again.

use std::ops::{Index, IndexMut};

/// A slab: what is inserted keeps its number until it is removed.
pub struct Lines<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Lines<T> {
    /// Keeps an entry; returns its number.
    pub fn insert(&mut self, entry: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.entries[number as usize] = Some(entry);
            return number;
        }
        self.entries.push(Some(entry));
        self.entries.len() as u32 - 1
    }

    /// Forgets an entry.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let entry = self.entries.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(entry)
    }

    /// Are there no others than one?
    pub fn is_one(&self) -> bool {
        self.entries.len() - self.free.len() == 1
    }

    /// The entry of a number that may be gone.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.entries.get_mut(number as usize)?.as_mut()
    }
}

impl<T> Index<u32> for Lines<T> {
    type Output = T;

    #[allow(clippy::expect_used)]
    fn index(&self, number: u32) -> &T {
        self.entries[number as usize].as_ref().expect("a line keeps its number until it is dropped")
    }
}

impl<T> IndexMut<u32> for Lines<T> {
    #[allow(clippy::expect_used)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        self.entries[number as usize].as_mut().expect("a line keeps its number until it is dropped")
    }
}
