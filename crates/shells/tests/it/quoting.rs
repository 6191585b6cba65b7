//! Quoted words under real shells.

use crate::support::{Feed, JobDirs, Shell};
use executor_core::shell::ShellDialect;
use executor_core::variable::JobVariable;
use proptest::prelude::*;
use shells::{export_prologue, quote_sh, quote_sh_long};

/// Words that are hard to quote.
const AWKWARD: [&str; 14] = [
    "",
    "'",
    "''",
    "\\",
    "\\'",
    "\"",
    "$HOME",
    "`id`",
    "$(id)",
    "a\nb",
    "\n",
    "-n",
    "!",
    "a\r\tb\u{1}",
];

/// Prints each word followed by a separator that no word contains, and compares.
fn check(shell: Shell, words: &[String]) {
    for quote in [quote_sh, quote_sh_long] {
        let quoted = words.iter().map(|word| quote(word).expect("no NUL"));
        let quoted: Vec<String> = quoted.collect();
        let script = format!("printf '%s\\034' {}\n", quoted.join(" "));
        let outcome = JobDirs::new().run(shell, Feed::File, &script);
        let expect = words.join("\u{1c}") + "\u{1c}";
        assert_eq!(outcome.stdout, expect, "{shell:?} {script:?}");
    }
}

#[test]
fn hard_words_are_printed_unchanged() {
    for shell in Shell::ALL {
        check(shell, &AWKWARD.map(str::to_owned));
    }
}

fn word() -> impl Strategy<Value = String> {
    // Mostly characters with a meaning for shells.
    let special = prop::sample::select(
        "'\"\\$`!(){}[]*?~#&|;<>= \n\t\r%-"
            .chars()
            .collect::<Vec<_>>(),
    );
    let any = any::<char>().prop_filter("no NUL and no separator", |&c| c != '\0' && c != '\u{1c}');
    prop::collection::vec(prop_oneof![special, any], 0..40)
        .prop_map(|characters| characters.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_words_are_printed_unchanged(words in prop::collection::vec(word(), 1..20)) {
        for shell in Shell::ALL {
            check(shell, &words);
        }
    }
}

#[test]
fn exported_values_are_printed_unchanged() {
    for shell in Shell::ALL {
        let variables = AWKWARD.iter().enumerate();
        let variables =
            variables.map(|(index, value)| JobVariable::public(format!("V{index}"), *value));
        let prologue = export_prologue(ShellDialect::Sh, &variables.collect()).unwrap();
        let print: Vec<String> = (0..AWKWARD.len())
            .map(|index| format!("\"$V{index}\""))
            .collect();
        let print = print.join(" ");
        let script = format!("{prologue}printf '%s\\034' {print}\n");
        let outcome = JobDirs::new().run(shell, Feed::Stdin, &script);
        let expect = AWKWARD.join("\u{1c}") + "\u{1c}";
        assert_eq!(outcome.stdout, expect, "{shell:?}");
    }
}
