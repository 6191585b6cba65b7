use crate::ScriptError;
use crate::quote::{pwsh, refuse_nul, sh_always};
use executor_core::shell::ShellDialect;
use executor_core::variable::{JobVariable, JobVariables};

/// Returns lines that set `variables`, to be placed before a script.
///
/// This is only for drivers that can pass nothing but a script's text: the result **contains the
/// values, including secrets**, and must be treated like them. If an environment can be passed,
/// pass that instead. The value of a file variable must be the path of its file.
///
/// # Errors
///
/// [`ScriptError::VariableName`] if a name is not a shell identifier, [`ScriptError::Nul`] if a
/// value contains a NUL byte.
pub fn export_prologue(
    dialect: ShellDialect,
    variables: &JobVariables,
) -> Result<String, ScriptError> {
    let mut text = String::new();
    for (index, JobVariable { key, value, .. }) in variables.iter().enumerate() {
        if !is_identifier(key) {
            return Err(ScriptError::VariableName {
                position: index + 1,
            });
        }
        refuse_nul(value)?;
        let line = if dialect.is_posix() {
            format!("export {key}={}\n", sh_always(value))
        } else {
            format!(
                "${{env:{key}}} = {}\n${{{key}}} = ${{env:{key}}}\n",
                pwsh(value)
            )
        };
        text.push_str(&line);
    }
    Ok(text)
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prologue(dialect: ShellDialect, key: &str, value: &str) -> Result<String, ScriptError> {
        export_prologue(
            dialect,
            &[JobVariable::public(key, value)].into_iter().collect(),
        )
    }

    #[test]
    fn values_are_data_in_every_dialect() {
        let value = "$(id) 'x'\n`y`";
        assert_eq!(
            prologue(ShellDialect::Sh, "A", value).unwrap(),
            "export A='$(id) '\\''x'\\''\n`y`'\n"
        );
        assert_eq!(
            prologue(ShellDialect::Pwsh, "A", value).unwrap(),
            "${env:A} = '$(id) ''x''\n`y`'\n${A} = ${env:A}\n"
        );
    }

    #[test]
    fn names_that_would_be_code_are_refused() {
        for name in ["", "1A", "A=B", "A;id", "A\nB", "é", "A\0"] {
            let refused = prologue(ShellDialect::Bash, name, "x");
            assert_eq!(
                refused,
                Err(ScriptError::VariableName { position: 1 }),
                "{name:?}"
            );
        }
        assert_eq!(
            prologue(ShellDialect::Bash, "A", "x\0"),
            Err(ScriptError::Nul)
        );
    }
}
