//! The beginning of TLS on a connection.

use super::{Line, Tunnel, deadline};
use crate::plan::error::Error;
use crate::plan::login::Tls;

impl Line {
    /// Starts TLS, once both sides have agreed to it in their own protocol's words.
    pub fn secure(&mut self, tls: &Tls, host: &str) -> Result<(), Error> {
        if !self.inbox().is_empty() {
            // Taken as said under TLS, it would be whoever stands between who said it.
            return Err(Error::engine("the server spoke before TLS began").code("tls"));
        }
        self.tunnel = Some(Box::new(Tunnel::new(tls, host)?));
        let until_ns = deadline();
        self.flush();
        while self.is_handshaking() {
            let came = self.more();
            if came.is_err() {
                // TLS itself tells the server why.
                self.flush();
            }
            if !came? && self.is_handshaking() {
                self.wait_until(until_ns)?;
            }
        }
        Ok(())
    }

    fn is_handshaking(&self) -> bool {
        self.tunnel.as_ref().is_some_and(|it| it.is_handshaking())
    }
}
