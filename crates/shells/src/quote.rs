use crate::ScriptError;

/// Returns `text` as one word for sh and bash, without any expansion.
///
/// Words that consist of safe characters stay unquoted, so use the result only for arguments: as
/// the first word of a command, `if` would be the keyword and `A=1` an assignment.
///
/// # Errors
///
/// [`ScriptError::Nul`] if `text` contains a NUL byte.
///
/// # Examples
///
/// ```
/// assert_eq!(shells::quote_sh("it's $HOME")?, r"'it'\''s $HOME'");
/// assert_eq!(shells::quote_sh("--depth=20")?, "--depth=20");
/// # Ok::<(), shells::ScriptError>(())
/// ```
pub fn quote_sh(text: &str) -> Result<String, ScriptError> {
    refuse_nul(text)?;
    Ok(sh(text))
}

/// Returns a whole script as one word for sh and bash, without any expansion.
///
/// With the single quotes of [`quote_sh`], each quote in the text ends a part of the word. In a
/// locale with wide characters, bash measures the rest of the word for each part, so a long script
/// would take quadratic time.
///
/// # Errors
///
/// [`ScriptError::Nul`] if `text` contains a NUL byte.
///
/// # Examples
///
/// ```
/// assert_eq!(shells::quote_sh_long("it's $HOME")?, r#""it's \$HOME""#);
/// # Ok::<(), shells::ScriptError>(())
/// ```
pub fn quote_sh_long(text: &str) -> Result<String, ScriptError> {
    refuse_nul(text)?;
    Ok(sh_long(text))
}

/// Returns `text` as one PowerShell string, without any expansion.
///
/// PowerShell treats the four typographic single quotes like `'`, so those are doubled as well.
///
/// # Errors
///
/// [`ScriptError::Nul`] if `text` contains a NUL byte.
///
/// # Examples
///
/// ```
/// assert_eq!(shells::quote_pwsh("it's $HOME")?, "'it''s $HOME'");
/// # Ok::<(), shells::ScriptError>(())
/// ```
pub fn quote_pwsh(text: &str) -> Result<String, ScriptError> {
    refuse_nul(text)?;
    Ok(pwsh(text))
}

pub(crate) fn refuse_nul(text: &str) -> Result<(), ScriptError> {
    if text.contains('\0') {
        return Err(ScriptError::Nul);
    }
    Ok(())
}

/// Quotes like [`quote_sh`], without the check for NUL, which is made once for whole scripts.
pub(crate) fn sh(text: &str) -> String {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@+,=-".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_safe) {
        return text.to_owned();
    }
    sh_always(text)
}

/// Quotes like [`sh`], even if no quotes are needed.
pub(crate) fn sh_always(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes like [`quote_sh_long`], without the check for NUL.
pub(crate) fn sh_long(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 8 + 2);
    quoted.push('"');
    for character in text.chars() {
        if matches!(character, '\\' | '$' | '`' | '"') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

/// Quotes like [`quote_pwsh`], without the check for NUL, which is made once for whole scripts.
pub(crate) fn pwsh(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for character in text.chars() {
        quoted.push(character);
        if matches!(character, '\'' | '\u{2018}'..='\u{201b}') {
            quoted.push(character);
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_refused() {
        assert_eq!(quote_sh("a\0b"), Err(ScriptError::Nul));
        assert_eq!(quote_pwsh("\0"), Err(ScriptError::Nul));
    }

    #[test]
    fn the_empty_text_is_quoted() {
        assert_eq!(sh(""), "''");
        assert_eq!(pwsh(""), "''");
    }

    #[test]
    fn powershell_quotes_of_every_kind_are_doubled() {
        assert_eq!(
            pwsh("a'b\u{2018}c\u{201b}"),
            "'a''b\u{2018}\u{2018}c\u{201b}\u{201b}'"
        );
    }
}
