//! Masking, compared with a reference that tries each secret at each position.

use crate::controls::shown;
use proptest::prelude::*;
use std::process::Command;
use trace::{MaskRules, MaskSet, Masker, Variants};

/// Marks masked bytes by trying each secret at each position, in the text and in what a terminal shows of it; a joint
/// means that the byte belongs to one occurrence with the byte before.
pub(crate) fn reference(text: &[u8], secrets: &[Vec<u8>]) -> Vec<u8> {
    let mut hidden = vec![false; text.len()];
    let mut joined = vec![false; text.len()];
    let all: Vec<usize> = (0..text.len()).collect();
    for places in [all, shown(text)] {
        let bytes: Vec<u8> = places.iter().map(|place| text[*place]).collect();
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            for start in 0..bytes.len() {
                if bytes[start..].starts_with(secret) {
                    let (first, last) = (places[start], places[start + secret.len() - 1]);
                    hidden[first..=last].fill(true);
                    joined[first + 1..=last].fill(true);
                }
            }
        }
    }
    let mut out = Vec::new();
    for (index, byte) in text.iter().enumerate() {
        if !hidden[index] {
            out.push(*byte);
        } else if !joined[index] {
            out.extend_from_slice(b"[MASKED]");
        }
    }
    out
}

pub(crate) fn exact(secrets: &[Vec<u8>]) -> MaskSet {
    let rules = MaskRules::new().secrets(secrets).without_token_prefixes();
    rules.variants(Variants::ExactOnly).compile()
}

pub(crate) fn mask<'a>(set: &MaskSet, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut masker = Masker::new(set.clone());
    let mut out = Vec::new();
    for piece in pieces {
        masker.feed(piece, &mut out);
    }
    masker.finish(&mut out);
    out
}

pub(crate) fn check(secrets: &[&str], text: &str, expect: &str) {
    let secrets: Vec<_> = secrets.iter().map(|s| s.as_bytes().to_vec()).collect();
    let set = exact(&secrets);
    let text = text.as_bytes();
    assert_eq!(
        reference(text, &secrets),
        expect.as_bytes(),
        "the reference"
    );
    for split in 0..=text.len() {
        for second in split..=text.len() {
            let pieces = [&text[..split], &text[split..second], &text[second..]];
            let out = mask(&set, pieces);
            assert_eq!(
                String::from_utf8_lossy(&out),
                expect,
                "split {split}, {second}"
            );
        }
    }
}

/// Checks that a text, in two pieces split anywhere, is masked as expected.
pub(crate) fn check_splits(set: &MaskSet, text: &[u8], expect: &[u8]) {
    for split in 0..=text.len() {
        let (first, second) = text.split_at(split);
        let out = mask(set, [first, second]);
        let (out, expect) = (
            String::from_utf8_lossy(&out),
            String::from_utf8_lossy(expect),
        );
        assert_eq!(out, expect, "split at {split}");
    }
}

#[test]
fn self_overlapping_secrets() {
    check(&["aab"], "xaaab aab", "xa[MASKED] [MASKED]");
    check(&["ababc"], "abababc-ababd", "ab[MASKED]-ababd");
    check(&["0010012"], "0010010012", "001[MASKED]");
    check(&["aa"], "aaaaa b aa", "[MASKED] b [MASKED]");
}

#[test]
fn nested_and_overlapping_secrets() {
    check(
        &["tok1", "tok12345"],
        "tok12345 tok1 tok1234",
        "[MASKED] [MASKED] [MASKED]234",
    );
    check(&["abcd", "cdef"], "abcdef", "[MASKED]");
    check(
        &["abcdefgh", "cd"],
        "abcdefg cd abcdefgh",
        "ab[MASKED]efg [MASKED] [MASKED]",
    );
    check(&["abcd", "cdef", "ef"], "abcdefabcd", "[MASKED][MASKED]");
    check(
        &["multi\nline"],
        "a multi\nline b multi\nlike",
        "a [MASKED] b multi\nlike",
    );
}

#[test]
fn empty_and_blank_secrets_are_ignored() {
    let set = MaskRules::new()
        .secret("")
        .secret(" \n\t")
        .secret("  pass  ")
        .compile();
    assert_eq!(mask(&set, [&b"a pass b"[..]]), b"a [MASKED] b");
}

#[test]
fn variants_are_masked_at_every_split() {
    let set = MaskRules::new().secret("p@ss/word+\"x\" ok").compile();
    for (text, expect) in [
        ("a p%40ss%2Fword%2B%22x%22%20ok b", "a [MASKED] b"),
        ("a p@ss/word+\\\"x\\\" ok b", "a [MASKED] b"),
        (
            "Basic dXNlcjpwQHNzL3dvcmQrIngiIG9r end",
            "Basic dXNlcjp[MASKED] end",
        ),
    ] {
        check_splits(&set, text.as_bytes(), expect.as_bytes());
    }
}

#[test]
fn variants_of_short_secrets_are_masked() {
    for (secret, text, expect) in [
        ("p@ss", "a p%40ss b", "a [MASKED] b"),
        ("p@ss", "a p%40ss", "a [MASKED]"),
        ("p@s", "a p%40s b", "a [MASKED] b"),
        ("ab\"c", "{\"k\": \"ab\\\"c\"}", "{\"k\": \"[MASKED]\"}"),
        ("it's", "echo 'it'\\''s'", "echo '[MASKED]'"),
        ("ab\ncd", "x ab\r\ncd y", "x [MASKED] y"),
        ("a b c", "q=a%20b%20c&r=a+b+c", "q=[MASKED]&r=[MASKED]"),
        (
            "user1\nhunter2",
            "x user1: hunter2 y",
            "x [MASKED]: [MASKED] y",
        ),
        // "u:secret" and "user:p@ss", as basic authentication encodes them.
        ("secret", "Basic dTpzZWNyZXQ= end", "Basic dTp[MASKED]= end"),
        (
            "p@ss",
            "Basic dXNlcjpwQHNz end",
            "Basic dXNlcjp[MASKED] end",
        ),
        // "xsecretxx": after one byte.
        ("secret", "eHNlY3JldHh4", "eH[MASKED]Hh4"),
    ] {
        let set = MaskRules::new().secret(secret).compile();
        check_splits(&set, text.as_bytes(), expect.as_bytes());
    }
}

#[test]
fn tokens_keep_their_prefix() {
    let set = MaskRules::new().token_prefix("acme_");
    let set = set.secret("patent-9").compile();
    for (text, expect) in [
        ("x glpat-AbC_1.2=3-4 y", "x glpat-[MASKED] y"),
        ("glpat-glrt-abc,acme_q", "glpat-[MASKED],acme_[MASKED]"),
        ("glpat- nothing", "glpat- nothing"),
        ("glpatent-9", "gl[MASKED]"),
        (
            "_gitlab_session=0a1b; path",
            "_gitlab_session=[MASKED]; path",
        ),
    ] {
        check_splits(&set, text.as_bytes(), expect.as_bytes());
    }
}

#[test]
fn many_token_prefixes_are_used() {
    let prefixes: Vec<_> = (10..99).map(|number| format!("tok{number}-")).collect();
    let rules = prefixes
        .iter()
        .fold(MaskRules::new(), MaskRules::token_prefix);
    let set = rules.compile();
    for prefix in prefixes {
        let out = mask(&set, [format!("{prefix}abc").as_bytes()]);
        assert_eq!(String::from_utf8_lossy(&out), format!("{prefix}[MASKED]"));
    }
}

#[test]
fn values_of_secret_parameters_are_masked() {
    let set = MaskRules::new().compile();
    for (text, expect) in [
        (
            "GET /a?private_token=x/y&b=c d",
            "GET /a?private_token=[MASKED]&b=c d",
        ),
        (
            "?a=b&X-Amz-Signature=0f&RSS_token=z\n",
            "?a=b&X-Amz-Signature=[MASKED]&RSS_token=[MASKED]\n",
        ),
        ("my_private_token=visible", "my_private_token=visible"),
        ("?private_token=&a", "?private_token=&a"),
        (
            "?x-amz-credential=glpat-a%2F:b",
            "?x-amz-credential=[MASKED]",
        ),
    ] {
        check_splits(&set, text.as_bytes(), expect.as_bytes());
    }
}

#[test]
fn only_possible_secrets_are_held() {
    let mut masker = Masker::new(MaskRules::new().secret("hunter2hunter3").compile());
    let mut out = Vec::new();
    masker.feed(b"Password: ", &mut out);
    assert_eq!((&*out, masker.held()), (&b"Password: "[..], &b""[..]));
    masker.feed(b"xhunter2hunt", &mut out);
    assert_eq!(
        (&*out, masker.held()),
        (&b"Password: x"[..], &b"hunter2hunt"[..])
    );
    masker.feed(b"er2", &mut out);
    assert_eq!(
        (&*out, masker.held()),
        (&b"Password: xhunter2"[..], &b"hunter2"[..])
    );
    masker.feed(b"hunter3", &mut out);
    assert_eq!(
        (&*out, masker.held()),
        (&b"Password: xhunter2[MASKED]"[..], &b""[..])
    );
}

#[test]
fn mask_added_in_the_middle() {
    let rules = MaskRules::new()
        .secret("abcdef")
        .variants(Variants::ExactOnly);
    let mut masker = Masker::new(rules.compile());
    let mut out = Vec::new();
    masker.feed(b"xyz glpa", &mut out);
    masker.add_mask("bcdxyz");
    // The prefix of a token in progress is still known.
    masker.feed(b"t-token xyz abcd", &mut out);
    masker.add_mask("xyz");
    masker.feed(b"xyz xyz ?rss_tok", &mut out);
    masker.add_mask("cd");
    masker.feed(b"en=abc", &mut out);
    masker.finish(&mut out);
    let expect = "xyz glpat-[MASKED] xyz a[MASKED] [MASKED] ?rss_token=[MASKED]";
    assert_eq!(String::from_utf8_lossy(&out), expect);
}

#[test]
fn debug_output_has_no_secrets() {
    let rules = MaskRules::new().secret("hunter2");
    let set = rules.clone().compile();
    let shown = format!("{rules:?} {set:?} {:?}", Masker::new(set.clone()));
    assert!(!shown.contains("hunter2"));
}

#[test]
fn large_secret_is_masked_byte_by_byte() {
    let secret: Vec<u8> = (0..40_000_u32)
        .map(|n| b'a' + u8::try_from(n * n % 23).unwrap())
        .collect();
    let set = MaskRules::new().secret(&secret).compile();
    assert_eq!(mask(&set, secret.chunks(1)), b"[MASKED]");
}

/// The reference for tokens and parameters: masks the text after each marker.
fn reference_runs(text: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut hidden = vec![false; text.len()];
    let mut joined = vec![false; text.len()];
    let mut hide = |start: usize, end: usize| {
        for index in start..end {
            hidden[index] = true;
            joined[index] |= index > start;
        }
    };
    for start in 0..text.len() {
        let rest = &text[start..];
        if rest.starts_with(secret) {
            hide(start, start + secret.len());
        }
        if rest.starts_with(b"glpat-") {
            let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"._=-".contains(byte);
            let run = rest[6..].iter().take_while(|byte| token(byte)).count();
            hide(start + 6, start + 6 + run);
        }
        let lower = rest.to_ascii_lowercase();
        if lower.starts_with(b"?rss_token=") || lower.starts_with(b"&rss_token=") {
            let value = |byte: &u8| *byte > b' ' && !b"&?\x7f".contains(byte);
            let run = rest[11..].iter().take_while(|byte| value(byte)).count();
            hide(start + 11, start + 11 + run);
        }
    }
    let mut out = Vec::new();
    for (index, byte) in text.iter().enumerate() {
        if !hidden[index] {
            out.push(*byte);
        } else if !joined[index] {
            out.extend_from_slice(b"[MASKED]");
        }
    }
    out
}

pub(crate) fn small_text(
    alphabet: &'static [u8],
    length: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(alphabet), length)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_reference(
        secrets in prop::collection::vec(small_text(b"ab", 1..7), 1..5),
        text in small_text(b"aabbc", 0..40),
    ) {
        let set = exact(&secrets);
        let expect = reference(&text, &secrets);
        check_splits(&set, &text, &expect);
        prop_assert_eq!(&mask(&set, text.chunks(1)), &expect);
        prop_assert_eq!(&mask(&set, text.chunks(3)), &expect);
    }

    // Long secrets, so that the prefilter skips most of the text.
    #[test]
    fn long_secrets_in_long_text(
        secrets in prop::collection::vec(small_text(b"abcdefgh", 5..24), 1..6),
        order in prop::collection::vec((0_usize..6, 0_usize..24, small_text(b"abcdefgh .", 0..30)), 0..12),
    ) {
        let mut text = Vec::new();
        for (index, cut, filler) in order {
            let secret = &secrets[index % secrets.len()];
            // Whole secrets, and prefixes and suffixes of them side by side.
            text.extend_from_slice(&secret[..secret.len().min(cut + 5)]);
            text.extend_from_slice(&secret[secret.len().min(cut)..]);
            text.extend_from_slice(&filler);
        }
        let set = exact(&secrets);
        let expect = reference(&text, &secrets);
        check_splits(&set, &text, &expect);
        prop_assert_eq!(&mask(&set, text.chunks(5)), &expect);
    }

    #[test]
    fn tokens_parameters_and_secrets_together(
        parts in prop::collection::vec(prop::sample::select(vec![
            "glpat-", "glpa", "-", "?rss_token=", "&RSS_Token=", "&", " ", "ab", "xglpat-ab", "?", "tok", "=ab",
        ]), 0..14),
    ) {
        let text = parts.concat().into_bytes();
        let rules = MaskRules::new().without_token_prefixes().token_prefix("glpat-");
        let set = rules.secret("xglpat-ab").variants(Variants::ExactOnly).compile();
        let expect = reference_runs(&text, b"xglpat-ab");
        check_splits(&set, &text, &expect);
        prop_assert_eq!(&mask(&set, text.chunks(1)), &expect);
    }

    // Held text is a prefix of a secret, and a suffix of the text.
    #[test]
    fn held_text_begins_a_secret(
        secrets in prop::collection::vec(small_text(b"ab", 1..7), 1..5),
        text in small_text(b"aabbc", 0..40),
    ) {
        let mut masker = Masker::new(exact(&secrets));
        masker.feed(&text, &mut Vec::new());
        let held = masker.held();
        prop_assert!(text.ends_with(held));
        if !held.is_empty() {
            // Its start may be masked already; then the rest is inside a secret.
            let within = secrets.iter().any(|s| s.windows(held.len()).any(|part| part == held));
            prop_assert!(within);
        }
    }
}

/// SECRET in hexadecimal digits.
const HEX: &str = "534543524554";

/// Prints the variable S in the ways of shells and languages.
const PRINTS: [(&str, &str); 7] = [
    (
        "bash",
        "export -p; declare -p S; printf '%q\\n' \"$S\"; set; echo ${S@Q} ${S@A}; set -x; : \"$S\"",
    ),
    (
        "bash",
        "export LC_ALL=C; declare -p S; printf '%q\\n' \"$S\"",
    ),
    ("sh", "export -p; set; set -x; : \"$S\""),
    (
        "python3",
        "import os; S = os.environ['S']; print(repr(S), ascii(S), S.encode(), [S])",
    ),
    (
        "python3",
        "import os, json; S = os.environ['S']; print(json.dumps(S), json.dumps([json.dumps(S)]))",
    ),
    (
        "python3",
        "import os, html; S = os.environ['S']; print(html.escape(S), html.escape(S, False))",
    ),
    (
        "python3",
        "import os; S = os.environb[b'S']; print(S.hex(), S.hex().upper(), {'S': S})",
    ),
];

#[expect(
    clippy::disallowed_methods,
    reason = "the processes print and end at once"
)]
#[test]
fn secrets_are_masked_as_shells_and_languages_print_them() {
    let secrets = [
        "it's \"SECRET\" `SECRET` $SECRET \\ SECRET!",
        "SECRET\nwith 'SECRET' and \t\u{1b}[SECRET \"SECRET\"",
        "\u{e9}SECRET\u{20ac}SECRET \u{1f600}SECRET'SECRET",
        "SECRET<SECRET>&SECRET/SECRET'\"",
        "~SECRET#SECRET,SECRET{SECRET}*SECRET?",
    ];
    for secret in secrets {
        let set = MaskRules::new().secret(secret).compile();
        let debug = mask(&set, [format!("{secret:?}").as_bytes()]);
        assert_eq!(debug, b"\"[MASKED]\"");
        for (program, script) in PRINTS {
            let printed = Command::new(program)
                .args(["-c", script])
                .env("S", secret)
                .env("PYTHONUTF8", "1")
                .output()
                .unwrap();
            assert!(printed.status.success(), "{program}: {printed:?}");
            for stream in [&printed.stdout, &printed.stderr] {
                let out = mask(&set, [stream.as_slice()]);
                let out = String::from_utf8_lossy(&out);
                let is_shown = |line: &&str| line.contains("SECRET") || line.contains(HEX);
                let shown: Vec<&str> = out.lines().filter(is_shown).collect();
                assert!(
                    shown.is_empty(),
                    "{program}, {script}: {secret:?}: {shown:#?}"
                );
            }
        }
    }
}
