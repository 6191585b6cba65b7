//! Masking of secrets with control characters and sequences inside.

use crate::masking::{check, check_splits, exact, mask, reference, small_text};
use proptest::prelude::*;
use trace::{Controls, MaskRules, Masker};

/// Returns where the bytes are that a terminal shows.
pub(crate) fn shown(text: &[u8]) -> Vec<usize> {
    let mut controls = Controls::default();
    let places = 0..text.len();
    places
        .filter(|place| !controls.hides(text[*place]))
        .collect()
}

#[test]
fn secrets_with_colours_and_controls_inside_are_masked() {
    // As `grep --color e` shows a line.
    check(
        &["secret"],
        "a s\x1b[01;31m\x1b[Ke\x1b[m\x1b[Kcr\x1b[01;31me\x1b[mt b",
        "a [MASKED] b",
    );
    check(
        &["secret"],
        "se\x08\0\x07\x7fcret s\x1b]8;;http://x\x1b\\ecret",
        "[MASKED] [MASKED]",
    );
    check(
        &["secret"],
        "\x1b[1mse\x1b[0mcre\x1b[1mT\x1b[0m",
        "\x1b[1mse\x1b[0mcre\x1b[1mT\x1b[0m",
    );
    check(&["aab"], "a\x1b[ma\x1b[ma\x1b[mb", "a\x1b[m[MASKED]");
    // A line end ends a sequence.
    check(&["secret"], "s\x1b]title\necret", "s\x1b]title\necret");
    check(&["multi\nline"], "multi\x1b[m\nline", "[MASKED]");
}

#[test]
fn tokens_and_parameters_with_colours_inside_are_masked() {
    let set = MaskRules::new().compile();
    for (text, expect) in [
        (
            "gl\x1b[1mpat-ab\x1b[mcd e",
            "gl\x1b[1mpat-[MASKED]\x1b[m[MASKED] e",
        ),
        (
            "?rss_tok\x08en=ab\x08cd&e",
            "?rss_tok\x08en=[MASKED]\x08[MASKED]&e",
        ),
    ] {
        check_splits(&set, text.as_bytes(), expect.as_bytes());
    }
}

#[test]
fn so_long_a_sequence_separates_that_nothing_waits_for_its_end() {
    let set = exact(&[b"secret".to_vec()]);
    let mut masker = Masker::new(set);
    let mut out = Vec::new();
    masker.feed(b"s\x1b]1337;", &mut out);
    for _ in 0..1000 {
        masker.feed(&[b'x'; 100], &mut out);
        assert!(masker.held().len() < 5000);
    }
    masker.feed(b"\x07ecret secret", &mut out);
    assert!(out.ends_with(b"\x07ecret [MASKED]"));
}

/// Each byte of the text continues thousands of possible starts, and thousands of gaps are inside them.
#[test]
fn a_repeating_secret_between_controls_takes_linear_time() {
    let secret = "ab".repeat(2048);
    let set = exact(&[secret.clone().into_bytes()]);
    let text = "a\u{8}b\u{8}".repeat(100_000);
    let masked = mask(&set, [text.as_bytes()]);
    assert_eq!(String::from_utf8_lossy(&masked), "[MASKED]\u{8}");
}

#[test]
fn secret_added_while_its_start_with_colours_is_held_is_masked() {
    let mut masker = Masker::new(exact(&[b"secondary".to_vec()]));
    let mut out = Vec::new();
    masker.feed(b"a se\x1b[1mco", &mut out);
    masker.add_mask("second");
    masker.feed(b"\x1b[mnd b", &mut out);
    masker.finish(&mut out);
    assert_eq!(out, b"a [MASKED] b");
}

const TEXT_AND_CONTROLS: &[&[u8]] = &[
    b"a",
    b"b",
    b"a",
    b"b",
    b"aab",
    b"abab",
    b"c",
    b"\x08",
    b"\x1b[1m",
    b"\x1b]8;;\x07",
    b"\n",
    b"cccccccccccccccccccccccccccccccccccc",
];

const HOSTILE: &[&[u8]] = &[
    b"a",
    b"b",
    b"a",
    b"b",
    b"ab",
    b"c",
    b"\0",
    b"\x1b[a",
    b"\x1b]ab\x1b\\",
    b"\x1b(a",
    b"\x1b",
    b"[",
    b"b\x7f",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn colours_inside_secrets_change_nothing(
        secrets in prop::collection::vec(small_text(b"ab", 1..12), 1..5),
        text in prop::collection::vec(prop::sample::select(TEXT_AND_CONTROLS), 0..40),
    ) {
        let text = text.concat();
        let set = exact(&secrets);
        let expect = reference(&text, &secrets);
        check_splits(&set, &text, &expect);
        prop_assert_eq!(&mask(&set, text.chunks(1)), &expect);
        prop_assert_eq!(&mask(&set, text.chunks(3)), &expect);
    }

    // Also where the sequences themselves have letters of the secrets.
    #[test]
    fn no_secret_is_left_when_controls_are_removed(
        secrets in prop::collection::vec(small_text(b"ab", 1..12), 1..5),
        text in prop::collection::vec(prop::sample::select(HOSTILE), 0..60),
    ) {
        let out = mask(&exact(&secrets), text.concat().chunks(7));
        let left: Vec<u8> = shown(&out).iter().map(|place| out[*place]).collect();
        for secret in &secrets {
            let found = left.windows(secret.len()).any(|part| part == secret);
            prop_assert!(!found, "{:?}", String::from_utf8_lossy(&left));
        }
    }
}
