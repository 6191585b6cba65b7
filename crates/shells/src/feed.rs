//! The text for a shell that reads its script from standard input.

use crate::quote::quote_sh_long;
use executor_core::{BuildError, FileVariable, StageCommand, StageVariables};
use std::fmt::Write as _;

/// Variables that a shell owns: setting them is an error.
const NOT_SET: [&str; 7] = [
    "BASHOPTS",
    "BASH_VERSINFO",
    "EUID",
    "OPTIND",
    "PPID",
    "SHELLOPTS",
    "UID",
];

/// Returns the text for the standard input of the shell.
///
/// It holds the values of variables, so that none is on a command line. The script is one argument of `eval` with empty
/// standard input, so no command in it can read the rest of the text. The first line of output is `mark` and the number of the shell's process. The shell
/// keeps its output open to its end, whatever the script redirects: an earlier end of output is a broken connection.
///
/// # Errors
///
/// When the script or a value contains a NUL byte.
pub fn feed(command: &StageCommand, temp_dir: &str, mark: &str) -> Result<Vec<u8>, BuildError> {
    let mut text = feed_exports(&command.variables, temp_dir)?;
    let script = quote_sh_long(&command.script);
    let script = script.map_err(|_| nul("the script"))?;
    let directory = quote("the working directory", &command.working_dir)?;
    text.extend([
        "echo \"",
        mark,
        " $$\"\nexec 9>&1\ncd -- ",
        &directory,
        " || exit 1\neval ",
        &script,
        " </dev/null 9>&-\nexit $?\n",
    ]);
    Ok(text.into_bytes())
}

/// Returns lines that set the variables; file variables hold the paths of their files.
///
/// # Errors
///
/// When a value contains a NUL byte.
pub(crate) fn feed_exports(
    variables: &StageVariables,
    temp_dir: &str,
) -> Result<String, BuildError> {
    let mut text = String::new();
    let own = variables.environment.iter();
    let own = own.map(|(key, value)| (key, value.clone()));
    let files = variables.files.iter();
    let files = files.map(|file| (&file.key, format!("{temp_dir}/{}", file.key)));
    for (key, value) in own.chain(files) {
        // A shell cannot set a variable whose name is not an identifier.
        if NOT_SET.contains(&key.as_str()) || !is_identifier(key) {
            continue;
        }
        let value = quote(&format!("the value of {key}"), &value)?;
        text.extend(["export ", key, "=", &value, "\n"]);
    }
    Ok(text)
}

/// Returns lines for `sh` that create `temp_dir` with the values of file variables. A failure ends the shell.
///
/// # Errors
///
/// When a path contains a NUL byte.
pub fn write_files(files: &[FileVariable], temp_dir: &str) -> Result<String, BuildError> {
    let directory = quote("the directory of file variables", temp_dir)?;
    let mut text = format!("(umask 077; mkdir -p {directory} &&\n");
    for file in files {
        let name = quote("the name of a file variable", &file.key)?;
        let content = printf_format(&file.content);
        // Writing to a string does not fail.
        let _ = writeln!(text, "printf '{content}' >{directory}/{name} &&");
    }
    text.push_str(":\n) || exit\n");
    Ok(text)
}

/// Returns the format of `printf` that prints these bytes, for single quotes.
fn printf_format(bytes: &[u8]) -> String {
    let mut format = String::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            // The first words of a key are not an option.
            b'-' if index == 0 => format.push_str("\\055"),
            b'%' | b'\\' | b'\'' | 0..=8 | 11..=31 | 127.. => {
                let _ = write!(format, "\\{byte:03o}");
            }
            _ => format.push(char::from(*byte)),
        }
    }
    format
}

/// Quotes a text in all cases, also an empty one, or a script that begins with `-`.
fn quote(what: &str, text: &str) -> Result<String, BuildError> {
    if text.contains('\0') {
        return Err(nul(what));
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

fn nul(what: &str) -> BuildError {
    BuildError::config(format!("{what} contains a NUL byte"))
}

fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_testkit::CommandBuilder;

    fn text(command: CommandBuilder) -> String {
        let command = command.working_dir("/b").build();
        String::from_utf8(feed(&command, "/t", "mark").unwrap()).unwrap()
    }

    #[test]
    fn script_and_variables_are_quoted() {
        let command = CommandBuilder::new("echo 'a'\nexit 3")
            .variable("A", "it's $(id)\n")
            .variable("UID", "7")
            .variable("not a name", "x")
            .file("F", *b"secret");
        let expect = "export A='it'\\''s $(id)\n'\nexport F='/t/F'\necho \"mark $$\"\nexec 9>&1\n\
                      cd -- '/b' || exit 1\neval \"echo 'a'\nexit 3\" </dev/null 9>&-\nexit $?\n";
        assert_eq!(text(command), expect);
    }

    #[test]
    fn a_nul_byte_is_refused_with_its_variable() {
        let command = CommandBuilder::new("").variable("A", "a\0b").build();
        let error = feed(&command, "/t", "mark").unwrap_err();
        assert_eq!(error.to_string(), "the value of A contains a NUL byte");
    }

    #[test]
    fn format_has_neither_options_nor_directives() {
        let check = |bytes: &[u8], expect: &str| assert_eq!(printf_format(bytes), expect);
        check(b"-----BEGIN KEY-----\n", "\\055----BEGIN KEY-----\n");
        check(b"100% 'it'\\\0", "100\\045 \\047it\\047\\134\\000");
    }
}
