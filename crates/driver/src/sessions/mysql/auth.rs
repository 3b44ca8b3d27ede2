//! Proving who we are, by each method that servers ask for.
//!
//! The password never leaves in a form that others on the way could use, nor for a server that
//! could be any other, unless the login says so.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context};
use mysql_common::packets::AuthPlugin;

use super::packet::garbage;
use crate::plan::error::{Error, shorten};
use crate::plan::{Login, TlsMode};
use crate::sessions::reach::Reach;

/// An exchange under way.
pub struct Auth<'a> {
    login: &'a Login,
    /// How the server is reached.
    pub reach: Reach,
    plugin: AuthPlugin<'static>,
    procedure: AuthProc,
    nonce: Vec<u8>,
    /// The server's RSA key, where the login names one.
    key: Option<Vec<u8>>,
}

/// The server has not this password at hand and wants all of it (`caching_sha2_password`).
const WANTS_PASSWORD: &[u8] = &[4];

impl<'a> Auth<'a> {
    /// Begins with the method that the greeting named, and what to say first. Where that is none
    /// of ours, with the oldest: the server then names the account's own.
    pub fn open(
        login: &'a Login,
        reach: Reach,
        plugin: &[u8],
        nonce: &[u8],
    ) -> Result<(Self, Vec<u8>), Error> {
        let ours = accept(&AuthPlugin::from_bytes(plugin), login, reach).is_ok();
        Self::begin(login, reach, if ours { plugin } else { b"mysql_native_password" }, nonce)
    }

    /// Begins with the method that the server named, and what to say first.
    pub fn begin(
        login: &'a Login,
        reach: Reach,
        plugin: &[u8],
        nonce: &[u8],
    ) -> Result<(Self, Vec<u8>), Error> {
        let plugin = AuthPlugin::from_bytes(plugin).into_owned();
        let nonce = nonce.strip_suffix(&[0]).filter(|it| it.len() == 20).unwrap_or(nonce);
        let procedure = accept(&plugin, login, reach)?;
        let key = key_of(login)?;
        let mut auth = Self { login, reach, plugin, procedure, nonce: nonce.to_vec(), key };
        let proof = auth.step(nonce)?;
        Ok((auth, proof.unwrap_or_default()))
    }

    /// The method's name.
    pub fn name(&self) -> &[u8] {
        self.plugin.as_bytes()
    }

    /// Answers what the server asks further; `None`: it wants no answer.
    pub fn go_on(&mut self, challenge: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if challenge == WANTS_PASSWORD {
            may_show(self.login, self.reach)?;
        }
        // A byte says how the exchange goes on; anything longer is a key.
        if challenge.len() > 1 {
            check(challenge, password(self.login).len() + 1)
                .ok_or_else(|| garbage("an invalid public key"))?;
        }
        self.step(challenge)
    }

    fn step(&mut self, challenge: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let (login, nonce, key) = (self.login, &self.nonce[..], self.key.as_deref());
        let way = AuthContext { login, nonce, key };
        let response = self.procedure.run(way, challenge);
        let response = response.map_err(|cause| garbage(&format!("in the log-in: {cause}")))?;
        Ok(response.data().map(<[u8]>::to_vec))
    }
}

fn accept(plugin: &AuthPlugin, login: &Login, reach: Reach) -> Result<AuthProc, Error> {
    match plugin {
        AuthPlugin::MysqlClearPassword => may_say_clearly(login, reach)?,
        // Under TLS it sends the password at once, and in plain text under a key.
        AuthPlugin::Sha256Password => may_show(login, reach)?,
        AuthPlugin::MysqlOldPassword | AuthPlugin::Parsec | AuthPlugin::Other(_) => {
            let name = shorten(&String::from_utf8_lossy(plugin.as_bytes()));
            return Err(Error::user(format!(
                "{} authenticates {} by '{name}'",
                login.host, login.user
            ))
            .because("dyno has no such method")
            .hint("use a user of mysql_native_password, caching_sha2_password or ed25519"));
        }
        _ => {}
    }
    plugin.init().map_err(|cause| Error::driver("authentication").because(cause))
}

// Who may see the password: its own server, as far as that is known. MySQL's client asks alike.

/// May the password be sent under the server's key, or under TLS as it is?
fn may_show(login: &Login, reach: Reach) -> Result<(), Error> {
    let host = &login.host;
    let is_pinned = login.proof.server_public_key.is_some();
    match reach {
        _ if password(login).is_empty() || login.proof.get_server_public_key => Ok(()),
        Reach::Near | Reach::Verified => Ok(()),
        Reach::Open if is_pinned => Ok(()),
        Reach::Encrypted if login.proof.enable_cleartext_plugin => Ok(()),
        Reach::Encrypted => Err(Error::user(format!("{host} wants the password itself"))
            .because("its identity is not verified: this mode of TLS trusts any server")
            .hint(
                "verify it (ssl-mode=verify_identity, with ssl-ca=FILE where its authority is \
                 your own), or trust any server (get-server-public-key=on)",
            )),
        Reach::Open => {
            Err(Error::user(format!("{host} wants the password under a key of its own"))
                .because("its identity is not verified, and the connection is not encrypted")
                .hint(
                    "encrypt and verify it (ssl-mode=verify_identity), name the server's key \
                 (server-public-key-path=FILE), or trust any server \
                 (get-server-public-key=on)",
                ))
        }
    }
}

/// May the password be sent as it is, whatever method its account has?
fn may_say_clearly(login: &Login, reach: Reach) -> Result<(), Error> {
    let host = &login.host;
    match reach {
        Reach::Verified => Ok(()),
        Reach::Near | Reach::Encrypted if login.proof.enable_cleartext_plugin => Ok(()),
        Reach::Open => Err(Error::user(format!(
            "{host} asks for the password in clear text over a connection that is not encrypted"
        ))
        .hint("encrypt and verify it: ssl-mode=verify_identity")),
        _ => Err(Error::user(format!("{host} asks for the password in clear text"))
            .because("TLS has not verified its identity")
            .hint("verify it (ssl-mode=verify_identity), or allow it: enable-cleartext-plugin=on")),
    }
}

fn password(login: &Login) -> &str {
    login.password.as_deref().unwrap_or_default()
}

/// The server's key, where the login names one that a password can be sent under.
fn key_of(login: &Login) -> Result<Option<Vec<u8>>, Error> {
    let Some(path) = &login.proof.server_public_key else { return Ok(None) };
    let unusable = || Error::user(format!("{} holds no RSA key of a server", path.display()));
    let key = std::fs::read(path).map_err(|cause| unusable().because(cause))?;
    let hint = "the server has it: SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
    match check(&key, password(login).len() + 1) {
        Some(()) => Ok(Some(key)),
        None => Err(unusable().hint(hint)),
    }
}

/// What a method may know of the connection.
struct AuthContext<'a> {
    login: &'a Login,
    nonce: &'a [u8],
    key: Option<&'a [u8]>,
}

impl Context for AuthContext<'_> {
    fn pass(&self) -> &[u8] {
        password(self.login).as_bytes()
    }

    fn is_ipc_transport(&self) -> bool {
        self.login.host.starts_with('/')
    }

    fn is_tls_transport(&self) -> bool {
        self.login.tls.mode != TlsMode::Disable
    }

    fn scramble(&self) -> &[u8] {
        self.nonce
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        self.key
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
