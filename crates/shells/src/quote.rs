use crate::ScriptError;

/// Returns `text` as one word for sh and bash, free of any expansion.
///
/// Words made of harmless characters alone stay as they are, so the result is meant for arguments:
/// as the first word of a command, `if` would be the keyword and `A=1` an assignment.
///
/// # Errors
///
/// [`ScriptError::Nul`] when `text` holds a NUL byte.
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

/// Returns `text` as one PowerShell string, free of any expansion.
///
/// PowerShell takes the four typographic single quotes for `'`, so those are doubled as well.
///
/// # Errors
///
/// [`ScriptError::Nul`] when `text` holds a NUL byte.
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

/// Quotes like [`quote_sh`]; whole scripts are checked for NUL once, when they are finished.
pub(crate) fn sh(text: &str) -> String {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@+,=-".contains(&byte);
    if !text.is_empty() && text.bytes().all(harmless) {
        return text.to_owned();
    }
    sh_always(text)
}

/// Quotes like [`sh`], also where no quotes are needed.
pub(crate) fn sh_always(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes like [`quote_pwsh`]; whole scripts are checked for NUL once, when they are finished.
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
    fn the_empty_word_is_a_word() {
        assert_eq!(sh(""), "''");
        assert_eq!(pwsh(""), "''");
    }

    #[test]
    fn powershell_doubles_every_character_it_takes_for_a_quote() {
        assert_eq!(
            pwsh("a'b\u{2018}c\u{201b}"),
            "'a''b\u{2018}\u{2018}c\u{201b}\u{201b}'"
        );
    }
}
