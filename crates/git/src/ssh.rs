/// Options with which OpenSSH neither prompts nor waits long for a host that does not respond.
const OPTIONS: &str = "-o BatchMode=yes -o ConnectTimeout=10";

/// Adds [`OPTIONS`] to a command that runs OpenSSH. Other programs do not know them, so their commands stay as they are.
pub(crate) fn without_prompts(command: &str) -> String {
    let command = command.trim();
    let program = match command.chars().next() {
        Some(quote @ ('\'' | '"')) => command[1..].split(quote).next(),
        _ => command.split_whitespace().next(),
    };
    match program.and_then(|program| program.rsplit('/').next()) {
        Some("ssh") => format!("{command} {OPTIONS}"),
        _ => command.to_owned(),
    }
}

/// Quotes a path as one word for a shell.
pub(crate) fn quote(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openssh_gets_its_options() {
        let check = |command: &str, expect: &str| {
            assert_eq!(without_prompts(command), expect);
        };
        check("ssh", "ssh -o BatchMode=yes -o ConnectTimeout=10");
        check(
            "/usr/bin/ssh -i ~/.ssh/work",
            "/usr/bin/ssh -i ~/.ssh/work -o BatchMode=yes -o ConnectTimeout=10",
        );
        check(
            "'/my tools/ssh' -4",
            "'/my tools/ssh' -4 -o BatchMode=yes -o ConnectTimeout=10",
        );
        check("plink -batch", "plink -batch");
        check("tsh ssh", "tsh ssh");
        check("FOO=1 ssh", "FOO=1 ssh");
        check("", "");
    }

    #[test]
    fn path_is_quoted_for_a_shell() {
        assert_eq!(quote("/it's/ssh"), r"'/it'\''s/ssh'");
    }
}
