//! What an output stream supports: colours, links, cursor movement.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};

/// What an output stream supports.
///
/// Decided by the environment; the first row that fits counts.
///
/// | colours | when |
/// |---|---|
/// | no | `NO_COLOR` is set |
/// | yes | `CLICOLOR_FORCE` or `FORCE_COLOR` is set, and not to `0` or `false` |
/// | no | no terminal, `TERM` is unset or `dumb`, `CLICOLOR` or `FORCE_COLOR` is `0` or `false` |
/// | yes | else |
///
/// | hyperlinks | when |
/// |---|---|
/// | yes or no | `FORCE_HYPERLINK` is set: no for `0` and `false` |
/// | no | no terminal, no colours, `CI`, or a terminal that is known to lack them |
/// | yes | else |
///
/// The cursor moves only on a terminal whose `TERM` is set and not `dumb`, and by
/// default only where `CI` is not set. An empty variable counts as unset everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact, and all combinations happen"
)]
pub struct OutputFeatures {
    /// Whether the cursor can be moved.
    pub(crate) can_move: bool,
    /// Whether a CI system runs this program.
    pub(crate) is_ci: bool,
    /// Whether colours are wanted.
    pub(crate) colours: bool,
    /// Whether hyperlinks are shown as such.
    pub(crate) links: bool,
    /// Whether characters beyond ASCII are shown.
    pub(crate) unicode: bool,
}

impl OutputFeatures {
    /// Returns the features of standard output.
    pub fn of_stdout() -> Self {
        Self::of(io::stdout().is_terminal())
    }

    /// Returns the features of standard error.
    pub fn of_stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    /// Returns the features for a question, which goes to standard error: a terminal only if the user
    /// can answer and sees what follows.
    pub fn for_questions() -> Self {
        Self::of(
            io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal(),
        )
    }

    fn of(is_terminal: bool) -> Self {
        Self::read(is_terminal, |name| std::env::var_os(name))
    }

    /// Returns whether a question can be asked here: no CI, and a terminal that can show one.
    pub fn can_ask(self) -> bool {
        self.can_move && !self.is_ci
    }

    /// Decides by whether it is a terminal, and by the environment.
    pub fn read(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let is_off = |value: &OsString| value == OsStr::new("0") || value == OsStr::new("false");
        let on = |name: &str| set(name).is_some_and(|value| !is_off(&value));
        let off = |name: &str| set(name).is_some_and(|value| is_off(&value));

        let term = set("TERM").unwrap_or_else(|| "dumb".into());
        let can_move = is_terminal && term != "dumb";
        let is_ci = on("CI");
        let colours = if set("NO_COLOR").is_some() {
            false
        } else {
            on("CLICOLOR_FORCE")
                || on("FORCE_COLOR")
                || (can_move && !off("CLICOLOR") && !off("FORCE_COLOR"))
        };
        let links = match set("FORCE_HYPERLINK") {
            Some(value) => !is_off(&value),
            None => can_move && colours && !is_ci && !lacks_links(&term, set),
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        Self {
            can_move,
            is_ci,
            colours,
            links,
            unicode: can_move && locale.is_some_and(|locale| is_utf8(&locale)),
        }
    }
}

/// Returns whether the terminal is known to show no hyperlinks.
fn lacks_links(term: &OsStr, set: impl Fn(&str) -> Option<OsString>) -> bool {
    let term = term.to_string_lossy();
    let old_vte = |version: OsString| {
        let number = version.to_str().and_then(|text| text.parse::<u32>().ok());
        number.is_some_and(|number| number < 5000)
    };
    matches!(&*term, "linux" | "cons25" | "eterm" | "eterm-color")
        || set("TERM_PROGRAM").is_some_and(|program| program == "Apple_Terminal")
        || set("VTE_VERSION").is_some_and(old_vte)
}

fn is_utf8(locale: &OsStr) -> bool {
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: &[(&str, &str)] = &[("TERM", "xterm-256color"), ("LANG", "C.UTF-8")];

    fn read(is_terminal: bool, variables: &[(&str, &str)]) -> OutputFeatures {
        let all: Vec<_> = variables.iter().chain(TERMINAL).collect();
        OutputFeatures::read(is_terminal, |name| {
            let found = all.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).into())
        })
    }

    /// Returns what a place can do, as a word: `c`olours, `l`inks, `m`oves by itself, `u`nicode.
    fn abilities(is_terminal: bool, variables: &[(&str, &str)]) -> String {
        let place = read(is_terminal, variables);
        let letters = [
            (place.colours, 'c'),
            (place.links, 'l'),
            (place.can_move && !place.is_ci, 'm'),
            (place.unicode, 'u'),
        ];
        let able = letters.into_iter().filter(|(able, _)| *able);
        able.map(|(_, letter)| letter).collect()
    }

    #[test]
    fn the_environment_decides_on_a_terminal() {
        let check =
            |variables: &[(&str, &str)], expect| assert_eq!(abilities(true, variables), expect);
        check(&[], "clmu");
        check(&[("NO_COLOR", "1")], "mu");
        check(&[("NO_COLOR", "")], "clmu");
        check(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], "mu");
        check(&[("NO_COLOR", "1"), ("FORCE_COLOR", "1")], "mu");
        check(&[("CLICOLOR", "0")], "mu");
        check(&[("CLICOLOR", "1")], "clmu");
        check(&[("CLICOLOR", "0"), ("CLICOLOR_FORCE", "1")], "clmu");
        check(&[("FORCE_COLOR", "0")], "mu");
        check(&[("TERM", "dumb")], "");
        check(&[("TERM", "")], "");
        check(&[("TERM", "dumb"), ("FORCE_COLOR", "1")], "c");
        check(&[("CI", "true")], "cu");
        check(&[("CI", "false")], "clmu");
        check(&[("TERM", "linux")], "cmu");
        check(&[("TERM_PROGRAM", "Apple_Terminal")], "cmu");
        check(&[("VTE_VERSION", "4600")], "cmu");
        check(&[("VTE_VERSION", "7600")], "clmu");
        check(&[("FORCE_HYPERLINK", "0")], "cmu");
        check(&[("FORCE_HYPERLINK", "1"), ("TERM", "linux")], "clmu");
        check(&[("LC_ALL", "C")], "clm");
        check(&[("LC_ALL", "C"), ("LANG", "de_DE.utf8")], "clm");
    }

    #[test]
    fn a_pipe_gets_plain_text_unless_forced() {
        let check =
            |variables: &[(&str, &str)], expect| assert_eq!(abilities(false, variables), expect);
        check(&[], "");
        check(&[("CLICOLOR", "1")], "");
        check(&[("CLICOLOR_FORCE", "1")], "c");
        check(&[("CLICOLOR_FORCE", "0")], "");
        check(&[("FORCE_COLOR", "3")], "c");
        check(&[("FORCE_COLOR", "false")], "");
        check(&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], "");
        check(&[("CI", "true")], "");
        check(&[("CI", "true"), ("FORCE_COLOR", "1")], "c");
        check(&[("FORCE_HYPERLINK", "1")], "l");
    }
}
