//! The states of calls, which the server keeps as pointers that it never follows.
//!
//! MariaDB copies a call in a view's WHERE and ends both copies (MDEV-24507), so a pointer is
//! believed only while its state lives. A state lies in a slot, and a slot is never given back to
//! the system but used again, so looking at it is always right; above its address the pointer has a
//! number of 16 bits, which the slot changes when its state ends.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::fault::Fault;

const ADDRESS_BITS: u32 = 48;

struct Slot {
    /// Of the pointer that is believed.
    number: AtomicU16,
    state: UnsafeCell<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the state is touched by the thread of the call that has it, and by whoever ends it, once.
unsafe impl Sync for Slot {}

/// Slots without a state.
static FREE: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

fn free_slots() -> std::sync::MutexGuard<'static, Vec<&'static Slot>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a state: the pointer that the server is given.
pub fn keep<F: Send + 'static>(state: F) -> Result<*mut c_char, Fault> {
    let fresh = || Slot { number: AtomicU16::new(0), state: UnsafeCell::new(None) };
    let slot = free_slots().pop().unwrap_or_else(|| Box::leak(Box::new(fresh())));
    let address = ptr::from_ref(slot) as usize;
    if address >> ADDRESS_BITS != 0 {
        return Err("this machine's addresses have more than 48 bits".into());
    }
    let number = slot.number.load(Ordering::Acquire);
    // SAFETY: the slot was free, so that nobody else has it.
    unsafe { *slot.state.get() = Some(Box::new(state)) };
    Ok((address | usize::from(number) << ADDRESS_BITS) as *mut c_char)
}

/// The slot of a pointer that `keep` made, and its number.
///
/// # Safety
/// `keep` made the pointer, or it is null.
unsafe fn slot_of(kept: *mut c_char) -> Option<(&'static Slot, u16)> {
    let address = kept as usize & ((1 << ADDRESS_BITS) - 1);
    // SAFETY: slots are never given back.
    let slot = unsafe { (address as *const Slot).as_ref() }?;
    Some((slot, (kept as usize >> ADDRESS_BITS) as u16))
}

/// The state of a call; `None` once it has ended.
///
/// # Safety
/// `keep` made the pointer, or it is null; one call is made by one thread at a time.
pub unsafe fn state_of<'a, F: 'static>(kept: *mut c_char) -> Option<&'a mut F> {
    // SAFETY: the caller vouches for it.
    let (slot, number) = unsafe { slot_of(kept) }?;
    if slot.number.load(Ordering::Acquire) != number {
        return None;
    }
    // SAFETY: its number says that it has not ended, and no other thread makes this call.
    let state = unsafe { (*slot.state.get()).as_mut() }?;
    state.downcast_mut()
}

/// Ends a state, once.
///
/// # Safety
/// As for `state_of`.
pub unsafe fn release(kept: *mut c_char) {
    // SAFETY: the caller vouches for it.
    let Some((slot, number)) = (unsafe { slot_of(kept) }) else { return };
    let next = number.wrapping_add(1);
    let ended = slot.number.compare_exchange(number, next, Ordering::AcqRel, Ordering::Acquire);
    if ended.is_ok() {
        // SAFETY: nobody believes another pointer to it, and it is not among the free ones.
        let state = unsafe { (*slot.state.get()).take() };
        free_slots().push(slot);
        drop(state);
    }
}
