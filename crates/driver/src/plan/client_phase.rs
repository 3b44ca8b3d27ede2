//! What one of several drivers says of a phase beside its record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several drivers in a phase: its part, and what it and its host spent from the start to
/// the last answer. What the kernel of the host does not tell is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientPhase {
    /// The phase's name.
    pub phase: String,
    /// Users that it played.
    pub users: u32,
    /// Its worker threads.
    pub threads: u32,
    /// CLOCK_MONOTONIC when the first of them began.
    pub first_began_ns: u64,
    /// CLOCK_MONOTONIC when the last did.
    pub last_began_ns: u64,
    /// CPU time of the busiest of them.
    pub busiest_ns: u64,
    /// The longest that one of them stood ready and waited for a core.
    pub waited_ns_max: u64,
    /// Cores of the host.
    pub cores: Option<u32>,
    /// CPU time of all that ran there.
    pub host_busy_ns: Option<u64>,
    /// What its hypervisor gave to others.
    pub host_stolen_ns: Option<u64>,
}
