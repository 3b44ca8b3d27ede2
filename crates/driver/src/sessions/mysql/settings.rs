//! Session settings, made on logging in.

use super::COM_QUERY;
use super::dialogue::Dialogue;
use super::failure;
use super::packet::garbage;
use crate::plan::error::Error;
use crate::plan::login::Login;

/// Makes all settings by one statement, in their order.
pub fn settle(dialogue: &mut Dialogue, login: &Login) -> Result<(), Error> {
    let settings: Result<Vec<String>, Error> = login.settings.iter().map(setting).collect();
    let settings = settings?;
    if settings.is_empty() {
        return Ok(());
    }
    dialogue.command(COM_QUERY, format!("SET {}", settings.join(", ")).as_bytes());
    let answer = dialogue.hear()?;
    match answer[0] {
        0x00 => Ok(()),
        0xff => Err(failure::of_login(&answer, login)),
        _ => Err(garbage("an answer to SET that is none")),
    }
}

/// Numbers, `DEFAULT` and what is quoted already stand as they are; anything else is a string.
fn setting((name, value): &(String, String)) -> Result<String, Error> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Error::user(format!("'{name}' is no session setting's name")));
    }
    let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
    if is_number || value.eq_ignore_ascii_case("default") {
        return Ok(format!("SESSION {name} = {value}"));
    }
    let inner = value.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap_or(value);
    let escaped = inner.replace('\\', "\\\\").replace('\'', "''");
    Ok(format!("SESSION {name} = '{escaped}'"))
}
