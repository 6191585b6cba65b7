use super::*;
use proptest::prelude::*;

fn pattern(source: &str) -> Pattern {
    Pattern::new(source, "").unwrap_or_else(|error| panic!("{source}: {error}"))
}

/// Checks whole texts that match and that do not.
fn check(source: &str, matching: &[&str], others: &[&str]) {
    let pattern = pattern(&format!("^(?:{source})$"));
    for text in matching {
        assert!(pattern.is_match(text), "{source} should match {text:?}");
    }
    for text in others {
        assert!(
            !pattern.is_match(text),
            "{source} should not match {text:?}"
        );
    }
}

fn refused(source: &str, offset: usize, words: &str) {
    let error = Pattern::new(source, "").unwrap_err();
    assert_eq!((error.offset, &*error.message), (offset, words), "{source}");
}

#[test]
fn perl_classes_and_word_boundaries_are_ascii() {
    check(r"\d+", &["09"], &["٣", ""]);
    check(r"\D", &["٣", "\n"], &["3"]);
    check(r"\w+", &["aZ_9"], &["é"]);
    check(r"\s+", &[" \t\n\x0C\r"], &["\x0B", "\u{a0}"]);
    check(r"[\s\d]+", &["1 2"], &["\x0B"]);
    check(r"[^\W]", &["a"], &["é", "-"]);
    assert!(pattern(r"\bfix\b").is_match("éfixé"));
    assert!(!pattern(r"x\By").is_match("x y"));
}

#[test]
fn brackets_follow_re2() {
    check("[a[b]", &["a", "[", "b"], &["]"]);
    check("[]a]+", &["]a"], &["["]);
    check("[^]a]", &["b"], &["]", "a"]);
    check("[a&&b~~c-]+", &["a&b~c-"], &["d"]);
    check("[a-c-]+", &["b-"], &["d"]);
    check("[[:alpha:][:^space:]]", &["é", "a"], &[" "]);
    check(r"[\]\\-]+", &[r"]\-"], &["a"]);
    check(r"[\x41-\x{43}]", &["B"], &["D"]);
    check(r"[\pL\P{L}]", &["é", "1"], &[]);
    check("[^a]", &["\n"], &["a"]);
    refused("[a", 0, "the bracket `[` is never closed");
    refused("x[z-a]", 2, "the range `z-a` goes backwards");
    refused("[[:nope:]]", 1, "the class `[:nope:]` is not RE2 syntax");
    refused(r"[\b]", 1, r"the escape `\b` is not RE2 syntax");
}

#[test]
fn braces_without_counts_are_literal() {
    check("a{2,3}", &["aa", "aaa"], &["a", "aaaa"]);
    check("a{2,}", &["aa", "aaaaa"], &["a"]);
    check("a{,2}", &["a{,2}"], &["aa"]);
    check("{x}", &["{x}"], &[]);
    check("a{01}", &["a{01}"], &["a"]);
    check("a{2}?", &["aa"], &["a"]);
    refused(
        "a{3,2}",
        1,
        "the minimum of the repetition `{3,2}` exceeds its maximum",
    );
}

#[test]
fn escapes_stand_for_characters() {
    check(r"\x41\x{1F600}\101\0\/\_\-", &["A\u{1F600}A\0/_-"], &[]);
    check(r"\a\f\n\r\t\v", &["\x07\x0C\n\r\t\x0B"], &[]);
    check(r"\Qa.*\E+", &["a.**"], &["aaa"]);
    assert!(pattern(r"^\Q[").is_match("[a"));
    check(r"\p{Greek}\pN\p{^Lu}", &["α1a"], &["a1a"]);
    check(r"a\Cb", &["a b"], &["aéb"]);
    check(r"\A.\z", &["é"], &["\n"]);
    refused(r"a\", 1, "the regular expression ends with a backslash");
    refused(r"a\h", 1, r"the escape `\h` is not RE2 syntax");
    refused(r"\x{110000}", 0, r"the escape `\x` is not RE2 syntax");
    refused(r"\p{Nope1}", 0, r"the class `\p{` is not RE2 syntax");
}

#[test]
fn flags_apply_to_the_rest_of_their_group() {
    check("(?i)a(?-i)b", &["Ab"], &["AB"]);
    check("(?i:a)b", &["Ab"], &["AB"]);
    check("(?s).", &["\n"], &[]);
    check("(?is-m:a.)", &["A\n"], &[]);
    check("(?P<x>a)(?<y>b)", &["ab"], &[]);
    assert!(Pattern::new("^b$", "mm").unwrap().is_match("a\nb"));
    assert!(!pattern("^b$").is_match("a\nb"));
    assert!(!pattern("b$").is_match("b\n"));
    refused("(?x)a b", 0, "`(?x` is not RE2 syntax");
    refused("(?i", 0, "the group `(?i` is not RE2 syntax");
    refused("(?P<a>x)(?P<a>x)", 8, "two groups have the name `a`");
}

#[test]
fn syntax_unknown_to_re2_is_named_in_the_error() {
    // R-GLCI-161
    for sign in ["(?=", "(?!", "(?<=", "(?<!"] {
        refused(
            &format!("a{sign}b)"),
            1,
            &format!("look-around `{sign}` is not RE2 syntax"),
        );
    }
    refused(r"(a)\1", 3, r"the backreference `\1` is not RE2 syntax");
    refused("(?>a)", 0, "the group `(?>` is not RE2 syntax");
    refused(
        "a**",
        2,
        "the repetition `*` of a repetition is not RE2 syntax",
    );
    refused("*.md", 0, "there is nothing before `*` to repeat");
    refused("a|+", 2, "there is nothing before `+` to repeat");
    refused("(ab", 0, "the parenthesis `(` is never closed");
    refused("ab)", 2, "the parenthesis `)` closes nothing");
}

#[test]
fn patterns_that_compile_too_large_are_refused() {
    for source in [
        "x{1000}{1000}",
        "(x{100}){11}",
        "x{1001}",
        "((a{20}){20}){20}",
    ] {
        let error = Pattern::new(source, "").unwrap_err();
        assert_eq!(error.kind, PatternErrorKind::TooLarge, "{source}");
        assert_eq!(error.to_string(), "the regular expression is too large");
    }
    let long = Pattern::new(&"a".repeat(1 << 20), "").unwrap_err();
    assert_eq!(long.kind, PatternErrorKind::TooLarge);
    let wide = Pattern::new(&r"\pL{1000}".repeat(50), "").unwrap_err();
    assert_eq!(wide.kind, PatternErrorKind::TooLarge);
    let deep = Pattern::new(&"(".repeat(10_000), "").unwrap_err();
    assert_eq!(deep.offset, translate::DEEPEST_GROUP as usize);
    let stars = format!("{}a{}", "(".repeat(50), ")*".repeat(50));
    assert!(pattern(&stars).is_match("aaa"));
    assert!(pattern("x{1000}").is_match(&"x".repeat(1000)));
}

#[test]
fn literals_have_slashes_and_flags() {
    let matches =
        |literal: &str, text: &str| Pattern::from_literal(literal).unwrap().is_match(text);
    assert!(matches("/b/", "abc"));
    assert!(matches("/B/i", "abc"));
    assert!(matches("//", ""));
    assert!(matches(r"/a\/b/", "a/b"));
    assert!(matches("/a/b/", "a/b"));
    assert!(matches("first\n/b/i\nlast", "B"));
    for no_literal in ["abc", "/", "/a/x", "a/b/", ""] {
        let error = Pattern::from_literal(no_literal).unwrap_err();
        assert_eq!(error.kind, PatternErrorKind::NoSlashes, "{no_literal}");
    }
    let error = Pattern::from_literal(r"/a\/b(/").unwrap_err();
    assert_eq!(error.offset, 5);
    let later_line = "/é\n/a(/i\nx/";
    let error = Pattern::from_literal(later_line).unwrap_err();
    assert!(later_line.is_char_boundary(error.offset));
}

#[test]
fn nested_repetitions_match_in_linear_time() {
    // A backtracking matcher would take exponential time here.
    let text = format!("{}b", "a".repeat(100_000));
    assert!(!pattern("^(a+)+$").is_match(&text));
    assert!(!pattern("^(a|aa|a?)*$").is_match(&text));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_pattern_read_as_re2_compiles_with_the_regex_crate(
        source in "([ab^$|?*+.é \\-]|[()\\[\\]{},]|\\\\[a-zA-Z0-9|/]|\\(\\?|[0-9]|:|\\[[:^]a){0,12}",
        flags in "[ismU]{0,3}",
    ) {
        let names_class = source.contains("\\p") || source.contains("\\P");
        match Pattern::new(&source, &flags) {
            Ok(pattern) => {
                prop_assert!(pattern.compiled.regex().is_some(), "{}", source);
            }
            Err(error) => {
                let unexplained = format!("`{source}` is not RE2 syntax");
                prop_assert!(names_class || error.message != unexplained, "{}", source);
                prop_assert!(source.is_char_boundary(error.offset), "{} {}", source, error.offset);
            }
        }
    }
}

#[test]
fn an_example_begins_with_the_literal_start() {
    for (source, expect) in [
        ("^release-", Some("release-1")),
        ("^release/\\d+\\.\\d+$", Some("release/1.0")),
        ("^(?:main|develop)$", Some("main")),
        ("^(feature|fix)/.+", Some("feature/1")),
        ("^v\\d+\\.\\d+\\.\\d+$", Some("v1.0.0")),
        ("^v?\\d+$", Some("1")),
        ("-stable$", Some("x-stable")),
        ("^[A-Z]+-\\d+$", None),
    ] {
        let pattern = Pattern::new(source, "").unwrap();
        assert_eq!(pattern.example().as_deref(), expect, "of {source}");
    }
}
