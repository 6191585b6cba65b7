/// What keeps SSH from asking anybody, and from waiting for a host that does not answer.
const QUIET: &str = "-o BatchMode=yes -o ConnectTimeout=15";

/// Returns the user's command of SSH with options that make it ask nobody. What is not OpenSSH stays as it is.
pub(super) fn quiet(command: &str) -> String {
    let command = command.trim();
    let word = match command.chars().next() {
        Some(quote @ ('\'' | '"')) => command[1..].split(quote).next(),
        _ => command.split_whitespace().next(),
    };
    match word.and_then(|word| word.rsplit('/').next()) {
        Some("ssh") => format!("{command} {QUIET}"),
        _ => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openssh_gets_its_options() {
        let check = |command: &str, is_quiet: bool| {
            assert_eq!(quiet(command).contains("BatchMode"), is_quiet, "{command}");
        };
        check("ssh", true);
        check("/usr/bin/ssh -i key", true);
        check("'/my tools/ssh' -4", true);
        check("plink -batch", false);
        check("", false);
    }
}
