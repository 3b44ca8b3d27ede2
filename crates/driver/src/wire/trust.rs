//! Whom a TLS connection believes: the configuration of each mode.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError as Bad, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
};

use crate::plan::error::Error;
use crate::plan::{Tls, TlsMode};

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

/// Makes the next connection read its authorities anew, and resume no earlier one's TLS session.
pub fn forget_authorities() {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

fn make(tls: &Tls) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match tls.mode {
        TlsMode::Disable | TlsMode::Require => Arc::new(AnyCertificate(Arc::clone(&provider))),
        TlsMode::VerifyCa => Arc::new(AnyHostName(authorities(tls, &provider)?)),
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
            Some(path) => Error::user(format!("{} has no certificate authority", path.display())),
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

// The modes of TLS that ask for less than a certificate of the host's, and why they may.

/// Mode `require`: whoever answers is believed, so that what passes by cannot be read by those who
/// only listen. It is no protection from who can stand between; the other modes are. Servers make
/// certificates for themselves at their first start (some of X.509 version 1, which no verifier
/// takes), and a bench must reach those. Nor is the proof asked for that the server holds its
/// certificate's key: who stands between would prove it for a certificate of his own.
#[derive(Debug)]
pub struct AnyCertificate(pub Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Mode `verify-ca`: the chain must lead to a trusted authority, the name may be any.
#[derive(Debug)]
pub struct AnyHostName(pub Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyHostName {
    /// The name is looked at last, so an error about it says that all else is well.
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let verified =
            self.0.verify_server_cert(end_entity, intermediates, name, ocsp_response, now);
        match verified {
            Err(TlsError::InvalidCertificate(
                Bad::NotValidForName | Bad::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
