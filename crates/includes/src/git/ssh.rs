/// What keeps SSH from asking anybody, and from waiting for a host that does not answer.
const QUIET: &str = "-o BatchMode=yes -o ConnectTimeout=10";

/// Returns the command of SSH that asks nobody: the user's own with more options. A program that is
/// not OpenSSH does not know them, and stays as it is.
pub(super) fn quiet(command: &str) -> String {
    let command = command.trim();
    let (first, _) = first_word(command);
    let program = first.rsplit('/').next().unwrap_or(first);
    if program == "ssh" {
        format!("{command} {QUIET}")
    } else {
        command.to_owned()
    }
}

/// Returns a path as one word for a shell.
pub(super) fn word(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

fn first_word(command: &str) -> (&str, &str) {
    for quote in ['\'', '"'] {
        if let Some(rest) = command.strip_prefix(quote)
            && let Some(split) = rest.split_once(quote)
        {
            return split;
        }
    }
    command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_command_is_kept() {
        let check = |command: &str, expect: &str| assert_eq!(quiet(command), expect);
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
        assert_eq!(word("/it's/ssh"), r"'/it'\''s/ssh'");
    }
}
