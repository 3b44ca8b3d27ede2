//! How to reach a server, as data: where, as whom, how encrypted.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to reach a server, and as whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// A host name or address; beginning with `/`, the Unix socket's own path.
    pub host: String,
    /// The TCP port; a Unix socket has none and says 0.
    pub port: u16,
    /// Who logs in.
    pub user: String,
    /// The user's password; it travels in the plan (stdin) only, and no error repeats it.
    pub password: Option<String>,
    /// The database to work in.
    pub database: String,
    /// Whether and how the connection is encrypted.
    pub tls: Tls,
    /// Session settings that every connection makes on opening, in this order.
    pub settings: Vec<(String, String)>,
}

/// Encryption of a connection. There is no mode that falls back to plain text by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// How much is asked of the server.
    pub mode: TlsMode,
    /// A PEM file of authorities to trust in place of the system's.
    pub ca: Option<PathBuf>,
}

/// libpq's words for the same things are `disable`, `require`, `verify-ca`, `verify-full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Plain text.
    Disable,
    /// Encrypted; whoever answers is believed.
    Require,
    /// Encrypted, and the certificate comes from a trusted authority.
    VerifyCa,
    /// As before, and it is for the host that we asked for.
    VerifyFull,
}
