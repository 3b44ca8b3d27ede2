//! Looks at a server's public key before the library does, which panics at what is torn.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

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
