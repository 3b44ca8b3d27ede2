//! `tls-server-end-point` (RFC 5929): a certificate's hash, by the algorithm of its own signature.

use rustls::pki_types::alg_id::{
    ECDSA_SHA256, ECDSA_SHA384, ECDSA_SHA512, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512,
};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// Where MD5 or SHA-1 signed, the RFC has SHA-256: RSA with either, ECDSA with SHA-1.
const OUTDATED: [&[u8]; 3] = [
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4],
    &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5],
    &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1],
];

/// The hash of a certificate (DER); none where its signature names none (Ed25519), or it is not
/// understood.
pub fn hash(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate: a sequence of what is signed, the algorithm, the signature.
    let (whole, _) = element(certificate)?;
    let (_, rest) = element(whole)?;
    let (algorithm, _) = element(rest)?;
    let is = |of: &[&[u8]]| of.contains(&algorithm);
    if is(&[&ECDSA_SHA256, &RSA_PKCS1_SHA256, &RSA_PSS_SHA256])
        || OUTDATED.iter().any(|it| algorithm.starts_with(it))
    {
        Some(Sha256::digest(certificate).to_vec())
    } else if is(&[&ECDSA_SHA384, &RSA_PKCS1_SHA384, &RSA_PSS_SHA384]) {
        Some(Sha384::digest(certificate).to_vec())
    } else if is(&[&ECDSA_SHA512, &RSA_PKCS1_SHA512, &RSA_PSS_SHA512]) {
        Some(Sha512::digest(certificate).to_vec())
    } else {
        None
    }
}

/// What the first element holds, and what comes after it.
fn element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = bytes.get(1..)?.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0, |sum, &digit| sum << 8 | usize::from(digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SignatureAlgorithm};

    use super::*;

    fn certificate(algorithm: &'static SignatureAlgorithm) -> Vec<u8> {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let made = CertificateParams::new(vec!["db.example".to_owned()]).unwrap();
        made.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_is_hashed_by_the_algorithm_that_signed_it() {
        let made = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        assert_eq!(hash(&made).unwrap(), Sha256::digest(&made).to_vec());
        let made = certificate(&rcgen::PKCS_ECDSA_P384_SHA384);
        assert_eq!(hash(&made).unwrap(), Sha384::digest(&made).to_vec());
        assert_eq!(hash(&certificate(&rcgen::PKCS_ED25519)), None);
    }

    #[test]
    fn no_bytes_break_the_reading_of_a_certificate() {
        let made = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        for end in 0..made.len() {
            assert!(end > made.len() / 2 || hash(&made[..end]).is_none());
            let mut broken = made.clone();
            broken[end] ^= 0xff;
            hash(&broken);
        }
        hash(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]);
    }
}
