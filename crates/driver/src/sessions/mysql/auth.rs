//! Proving who we are, by each method that servers ask for.
//!
//! The password never leaves in a form that others on the way could use.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context};
use mysql_common::packets::AuthPlugin;

use super::packet::garbage;
use crate::plan::error::{Error, shorten};
use crate::plan::{Login, TlsMode};

/// An exchange under way.
pub struct Auth<'a> {
    login: &'a Login,
    plugin: AuthPlugin<'static>,
    procedure: AuthProc,
    nonce: Vec<u8>,
}

impl<'a> Auth<'a> {
    /// Begins with the method that the greeting named, and what to say first. Where that is none
    /// of ours, with the oldest: the server then names the account's own.
    pub fn open(login: &'a Login, plugin: &[u8], nonce: &[u8]) -> Result<(Self, Vec<u8>), Error> {
        let ours = accept(&AuthPlugin::from_bytes(plugin), login).is_ok();
        Self::begin(login, if ours { plugin } else { b"mysql_native_password" }, nonce)
    }

    /// Begins with the method that the server named, and what to say first.
    pub fn begin(login: &'a Login, plugin: &[u8], nonce: &[u8]) -> Result<(Self, Vec<u8>), Error> {
        let plugin = AuthPlugin::from_bytes(plugin).into_owned();
        let nonce = nonce.strip_suffix(&[0]).filter(|it| it.len() == 20).unwrap_or(nonce);
        let procedure = accept(&plugin, login)?;
        let mut auth = Self { login, plugin, procedure, nonce: nonce.to_vec() };
        let proof = auth.step(nonce)?;
        Ok((auth, proof.unwrap_or_default()))
    }

    /// The method's name.
    pub fn name(&self) -> &[u8] {
        self.plugin.as_bytes()
    }

    /// Answers what the server asks further; `None`: it wants no answer.
    pub fn go_on(&mut self, challenge: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        // A byte says how the exchange goes on; anything longer is a key.
        if challenge.len() > 1 {
            let password = self.login.password.as_ref().map_or(0, String::len);
            check(challenge, password + 1).ok_or_else(|| garbage("a bad public key"))?;
        }
        self.step(challenge)
    }

    fn step(&mut self, challenge: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let way = AuthContext { login: self.login, nonce: &self.nonce };
        let response = self.procedure.run(way, challenge);
        let response = response.map_err(|cause| garbage(&format!("in the log-in: {cause}")))?;
        Ok(response.data().map(<[u8]>::to_vec))
    }
}

fn accept(plugin: &AuthPlugin, login: &Login) -> Result<AuthProc, Error> {
    match plugin {
        AuthPlugin::MysqlClearPassword if !is_encrypted(login) => Err(Error::user(format!(
            "{} asks for the password in clear text over a connection that is not encrypted",
            login.host
        ))
        .hint("ask for TLS")),
        AuthPlugin::MysqlOldPassword | AuthPlugin::Parsec | AuthPlugin::Other(_) => {
            let name = shorten(&String::from_utf8_lossy(plugin.as_bytes()));
            Err(Error::user(format!("{} authenticates {} by '{name}'", login.host, login.user))
                .because("dyno has no such method")
                .hint("use a user of mysql_native_password, caching_sha2_password or ed25519"))
        }
        _ => plugin.init().map_err(|cause| Error::driver("authentication").because(cause)),
    }
}

fn is_encrypted(login: &Login) -> bool {
    login.tls.mode != TlsMode::Disable
}

/// What a method may know of the connection.
struct AuthContext<'a> {
    login: &'a Login,
    nonce: &'a [u8],
}

impl Context for AuthContext<'_> {
    fn pass(&self) -> &[u8] {
        self.login.password.as_ref().map_or(b"", |it| it.as_bytes())
    }

    fn is_ipc_transport(&self) -> bool {
        self.login.host.starts_with('/')
    }

    fn is_tls_transport(&self) -> bool {
        is_encrypted(self.login)
    }

    fn scramble(&self) -> &[u8] {
        self.nonce
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

// Looks at a server's public key before the library does, which panics at what is torn.

/// What OAEP with SHA-1 puts around a message.
const PADDING: usize = 42;
/// 8192 bits; longer keys would be computed on for minutes.
const LONGEST_MODULUS: usize = 1024;
const LONGEST_EXPONENT: usize = 8;

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;

/// Can a message of so many bytes be encrypted with this key (PEM, `BEGIN PUBLIC KEY`)?
pub fn check(pem: &[u8], message: usize) -> Option<()> {
    let text = std::str::from_utf8(pem).ok()?;
    let text = text.trim().strip_prefix("-----BEGIN PUBLIC KEY-----")?;
    let text = text.strip_suffix("-----END PUBLIC KEY-----")?;
    let text: String = text.split_whitespace().collect();
    let der = STANDARD.decode(text).ok()?;
    let (outer, _) = element(&der, SEQUENCE)?;
    let (_, rest) = element(outer, SEQUENCE)?;
    let (bits, _) = element(rest, BIT_STRING)?;
    let (0, key) = bits.split_first()? else {
        return None;
    };
    let (fields, _) = element(key, SEQUENCE)?;
    let (modulus, rest) = element(fields, INTEGER)?;
    let (exponent, _) = element(rest, INTEGER)?;
    let modulus = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    let fits = (message + PADDING..=LONGEST_MODULUS).contains(&modulus.len());
    let is_odd = |it: &[u8]| it.last().is_some_and(|byte| byte % 2 == 1);
    let is_key = modulus.first() >= Some(&0x80) && is_odd(modulus) && is_odd(exponent);
    (fits && is_key && exponent.len() <= LONGEST_EXPONENT).then_some(())
}

/// Content of a DER element of this kind, and what follows it.
fn element(der: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.is_empty() || digits.len() > 2 {
            return None;
        }
        length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        rest = after;
    }
    let parts = rest.split_at_checked(length)?;
    (found == kind).then_some(parts)
}
