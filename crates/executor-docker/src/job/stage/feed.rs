//! What a shell that reads its script from standard input is given.

use executor_core::{BuildError, StageCommand, StageVariables};

/// Variables a shell keeps to itself: setting them is an error, and useless.
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
/// The values of variables travel in it, so that they are on no command line, in no configuration
/// of a container and in no request that the engine may log. The script is one word of one command
/// whose own standard input is empty: whatever in the script reads takes nothing of it away. The
/// first line of output is `mark`, the name of the shell's process and a line feed. The shell keeps its
/// output to its end, wherever the script sends its own: an end that comes before is a broken connection.
pub(crate) fn feed(
    command: &StageCommand,
    temp_dir: &str,
    mark: &str,
) -> Result<Vec<u8>, BuildError> {
    let mut text = exports(&command.variables, temp_dir)?;
    let script = quote("the script", &command.script)?;
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

/// Returns lines that set the variables, and those of files as the paths of the files.
pub(crate) fn exports(variables: &StageVariables, temp_dir: &str) -> Result<String, BuildError> {
    let mut text = String::new();
    let own = variables.environment.iter();
    let own = own.map(|(key, value)| (key, value.clone()));
    let files = variables.files.iter();
    let files = files.map(|file| (&file.key, format!("{temp_dir}/{}", file.key)));
    for (key, value) in own.chain(files) {
        // What no shell can name is in no shell's environment.
        if NOT_SET.contains(&key.as_str()) || !is_identifier(key) {
            continue;
        }
        let value = quote(&format!("the value of {key}"), &value)?;
        text.extend(["export ", key, "=", &value, "\n"]);
    }
    Ok(text)
}

/// Quotes a text that is always in quotes: also nothing, and a script that begins with `-`.
fn quote(what: &str, text: &str) -> Result<String, BuildError> {
    if text.contains('\0') {
        return Err(BuildError::config(format!("{what} holds a NUL byte")));
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
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
    fn a_script_and_its_variables_are_words_and_nothing_else() {
        let command = CommandBuilder::new("echo 'a'\nexit 3")
            .variable("A", "it's $(id)\n")
            .variable("UID", "7")
            .variable("not a name", "x")
            .file("F", *b"secret");
        let expect = "export A='it'\\''s $(id)\n'\nexport F='/t/F'\necho \"mark $$\"\nexec 9>&1\n\
                      cd -- '/b' || exit 1\neval 'echo '\\''a'\\''\nexit 3' </dev/null 9>&-\nexit $?\n";
        assert_eq!(text(command), expect);
    }

    #[test]
    fn what_no_shell_can_hold_is_refused_by_name() {
        let command = CommandBuilder::new("").variable("A", "a\0b").build();
        let error = feed(&command, "/t", "mark").unwrap_err();
        assert_eq!(error.to_string(), "the value of A holds a NUL byte");
    }
}
