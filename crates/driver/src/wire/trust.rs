//! Whom a TLS connection believes: the configuration of each mode.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::verifiers::{AnyName, Anybody};
use crate::plan::error::Error;
use crate::plan::login::{Tls, TlsMode};

/// Configurations made so far: the system's authorities take milliseconds to read, and thousands of
/// connections ask for the same.
static KNOWN: Mutex<Vec<(Tls, Arc<ClientConfig>)>> = Mutex::new(Vec::new());

/// The configuration of a mode.
pub fn configuration(tls: &Tls) -> Result<Arc<ClientConfig>, Error> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, made)) = known.iter().find(|(of, _)| of == tls) {
        return Ok(Arc::clone(made));
    }
    let made = Arc::new(make(tls)?);
    known.push((tls.clone(), Arc::clone(&made)));
    Ok(made)
}

fn make(tls: &Tls) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match tls.mode {
        TlsMode::Disable | TlsMode::Require => Arc::new(Anybody(Arc::clone(&provider))),
        TlsMode::VerifyCa => Arc::new(AnyName(authorities(tls, &provider)?)),
        TlsMode::VerifyFull => authorities(tls, &provider)?,
    };
    let configuration = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| Error::driver("TLS cannot be set up").because(cause))?;
    let configuration = configuration.dangerous().with_custom_certificate_verifier(verifier);
    Ok(configuration.with_no_client_auth())
}

fn authorities(
    tls: &Tls,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    let certificates = match &tls.ca {
        Some(path) => from_file(path)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(certificates);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
    verifier.build().map_err(|cause| {
        let error = match &tls.ca {
            Some(path) => Error::user(format!("no authority can be read in {}", path.display())),
            None => Error::user("this system trusts no certificate authority"),
        };
        error.because(cause).hint("name a PEM file of authorities to trust")
    })
}

fn from_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let unreadable = |cause: &dyn std::fmt::Display| {
        Error::user(format!("cannot read the authorities in {}", path.display()))
            .because(cause)
            .hint("a PEM file is needed: -----BEGIN CERTIFICATE-----")
    };
    let found = CertificateDer::pem_file_iter(path).map_err(|cause| unreadable(&cause))?;
    found.collect::<Result<_, _>>().map_err(|cause| unreadable(&cause))
}
