//! Masking against a reference that looks at every place for every secret.

use proptest::prelude::*;
use trace::{MaskRules, MaskSet, Masker, Variants};

/// Marks hidden bytes by trying each secret everywhere; a joint says that the byte
/// belongs to one occurrence with the byte before.
fn reference(text: &[u8], secrets: &[Vec<u8>]) -> Vec<u8> {
    let mut hidden = vec![false; text.len()];
    let mut joined = vec![false; text.len()];
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        for start in 0..text.len() {
            if text[start..].starts_with(secret) {
                hidden[start..start + secret.len()].fill(true);
                joined[start + 1..start + secret.len()].fill(true);
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

fn exact(secrets: &[Vec<u8>]) -> MaskSet {
    let rules = MaskRules::new().secrets(secrets).without_token_prefixes();
    rules.variants(Variants::ExactOnly).compile()
}

fn mask<'a>(set: &MaskSet, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut masker = Masker::new(set.clone());
    let mut out = Vec::new();
    for piece in pieces {
        masker.feed(piece, &mut out);
    }
    masker.finish(&mut out);
    out
}

fn check(secrets: &[&str], text: &str, expect: &str) {
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

#[test]
fn self_overlapping_secrets() {
    check(&["aab"], "xaaab aab", "xa[MASKED] [MASKED]");
    check(&["ababc"], "abababc-ababd", "ab[MASKED]-ababd");
    check(&["0010012"], "0010010012", "001[MASKED]");
    check(&["aa"], "aaaaa b aa", "[MASKED] b [MASKED]");
}

#[test]
fn secrets_within_and_across_one_another() {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_reference(
        secrets in prop::collection::vec(prop::collection::vec(prop::sample::select(b"ab".to_vec()), 1..7), 1..5),
        text in prop::collection::vec(prop::sample::select(b"aabbc".to_vec()), 0..40),
    ) {
        let set = exact(&secrets);
        let expect = reference(&text, &secrets);
        for split in 0..=text.len() {
            let (first, second) = text.split_at(split);
            prop_assert_eq!(&mask(&set, [first, second]), &expect, "split at {}", split);
        }
        prop_assert_eq!(&mask(&set, text.chunks(1)), &expect);
        prop_assert_eq!(&mask(&set, text.chunks(3)), &expect);
    }
}
