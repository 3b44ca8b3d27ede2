//! Channel binding: which kind of SCRAM a log-in takes, and what its proof is bound to.

use postgres_protocol::authentication::sasl::{self, SCRAM_SHA_256, SCRAM_SHA_256_PLUS};

use super::failure::place;
use crate::plan::error::Error;
use crate::plan::{ChannelBinding, Login};

/// The mechanism to take of those offered, and what the proof is bound to, as libpq has it: to the
/// server's certificate (`end_point`, where there is one) where both sides can; else the server
/// hears whether we could have, so that nobody in between takes its offer away.
pub fn choose(
    login: &Login,
    end_point: Option<Vec<u8>>,
    offered: &[&str],
) -> Result<(&'static str, sasl::ChannelBinding), Error> {
    let is_wanted = login.proof.channel_binding != ChannelBinding::Disable;
    match (end_point.filter(|_| is_wanted), offered.contains(&SCRAM_SHA_256_PLUS)) {
        (Some(hash), true) => {
            Ok((SCRAM_SHA_256_PLUS, sasl::ChannelBinding::tls_server_end_point(hash)))
        }
        (Some(_), false) => {
            may_go_unbound(login, "it does not offer SCRAM-SHA-256-PLUS")?;
            Ok((SCRAM_SHA_256, sasl::ChannelBinding::unrequested()))
        }
        (None, _) => {
            may_go_unbound(login, "there is no TLS, or its certificate names no hash")?;
            Ok((SCRAM_SHA_256, sasl::ChannelBinding::unsupported()))
        }
    }
}

/// Refuses a proof that is bound to nothing where the login wants a bound one.
pub fn may_go_unbound(login: &Login, why: &str) -> Result<(), Error> {
    if login.proof.channel_binding != ChannelBinding::Require {
        return Ok(());
    }
    Err(Error::user(format!("{} cannot bind the proof to its certificate", place(login)))
        .because(format!("{why}, and channel_binding=require needs it"))
        .hint("encrypt (sslmode=require) and use scram-sha-256 there, or channel_binding=prefer"))
}
