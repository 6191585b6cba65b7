use super::*;
use proptest::prelude::*;

fn check(glob: &str, matching: &[&str], others: &[&str]) {
    let read = Glob::new(glob).unwrap();
    for path in matching {
        assert!(read.is_match(path), "{glob} should match {path}");
    }
    for path in others {
        assert!(!read.is_match(path), "{glob} should not match {path}");
    }
}

#[test]
fn stars_stay_between_slashes() {
    check(
        "*.md",
        &["a.md", ".md", ".a.md"],
        &["a/b.md", "a.MD", "a.md/x"],
    );
    check("*", &["a", ".hidden"], &["a/b"]);
    check("**", &["a"], &["a/b"]);
    check("a**b", &["ab", "axb"], &["a/b"]);
    check("?", &["é", "."], &["", "ab", "/"]);
    check("*a*b*", &["xaxbx", "ab"], &["ba", "a"]);
    check("docs", &["docs"], &["docs/a", "/docs"]);
    check("docs/", &["docs/"], &["docs/a", "docs"]);
    check("/a", &["/a"], &["a"]);
}

#[test]
fn two_stars_and_a_slash_match_any_depth() {
    check("**/*.md", &["a.md", "a/b/c.md"], &["a.txt"]);
    check(
        "docs/**/*",
        &["docs/a", "docs/a/b/c"],
        &["docs", "x/docs/a"],
    );
    check("**/a/**/b", &["a/b", "x/a/y/z/b", "a/a/b"], &["a/x", "b"]);
    check("**/**/a", &["a", "x/y/a"], &["a/x"]);
    check("x**/a", &["xy/a"], &["x/y/a"]);
    check("a/**", &["a/b"], &["a/b/c", "a"]);
    check("**/a/*/**/c", &["a/b/c", "x/a/y/z/c"], &["a/c"]);
}

#[test]
fn brackets_and_escapes() {
    check("[ab].c", &["a.c"], &["c.c"]);
    check("[!ab]", &["c"], &["a", "/"]);
    check("[^a-c]", &["d"], &["b"]);
    check("[a-cx]", &["b", "x"], &["d"]);
    check("[a-]", &["-", "a"], &["b"]);
    check(r"[\]]", &["]"], &["\\"]);
    check("[]a]", &[], &["]a]", "a"]);
    check("[!]a", &["xa"], &["a"]);
    check("[c-a]", &["c", "a"], &["b"]);
    check("[a", &[], &["[a", "a"]);
    check("x[a/b]y", &["xay"], &["x/y"]);
    check(r"\*.md", &["*.md"], &["a.md"]);
    check(r"a\/b", &["a/b"], &[]);
    // A backslash at the end escapes nothing.
    check(r"a\", &["a"], &[r"a\"]);
    check("ü[ä-ö]?", &["üää"], &["üa"]);
}

#[test]
fn braces_list_alternatives() {
    check("*.{rb,py}", &["a.py"], &["a.c"]);
    check("src/{a,b}/**/*.c", &["src/b/q/z.c"], &["src/c/z.c"]);
    check("{a/b,c}/d", &["a/b/d", "c/d"], &["a/d"]);
    check("{a,{b,c}d}", &["a", "bd", "cd"], &["d"]);
    check("x{,y}", &["x", "xy"], &[]);
    check("{**,x}/a", &["p/q/a", "a"], &[]);
    check("{a}", &["a"], &["{a}"]);
    check("a}", &["a}"], &["a"]);
    check("{a,b", &[], &["a", "{a,b"]);
    check(r"\{a,b}", &["{a,b}"], &["a"]);
    check(r"{a\,b,c}", &["a,b", "c"], &["a"]);
    check("{[a,b]}", &[], &["a", "b"]);
}

#[test]
fn braces_with_too_many_alternatives_are_refused() {
    assert!(Glob::new(&"{a,b}".repeat(10)).is_ok());
    for glob in ["{a,b}".repeat(11), "{,}".repeat(100_000)] {
        assert_eq!(Glob::new(&glob), Err(GlobError::TooManyAlternatives));
    }
    let nested = format!(
        "{}{}{}",
        "{a,b}".repeat(9),
        "{".repeat(5000),
        "}".repeat(5000)
    );
    assert_eq!(Glob::new(&nested), Err(GlobError::TooManyAlternatives));
}

#[test]
fn many_stars_match_in_bounded_time() {
    // A naive backtracking matcher would take exponential time here.
    let stars = Glob::new(&"*a".repeat(200)).unwrap();
    assert!(!stars.is_match(&"a".repeat(199)));
    let depths = Glob::new(&"**/a/".repeat(100)).unwrap();
    assert!(!depths.is_match(&"a/".repeat(99)));
}

/// Returns whether a glob without braces matches, by exhaustive search.
fn naive(glob: &[u8], path: &[u8], is_start: bool) -> bool {
    if is_start && let Some(behind) = glob.strip_prefix(b"**/") {
        let mut starts = (0..path.len())
            .filter(|&at| path[at] == b'/')
            .map(|at| at + 1);
        return naive(behind, path, true)
            || starts.any(|start| naive(behind, &path[start..], true));
    }
    match (glob, path) {
        ([], []) => true,
        ([b'*', behind @ ..], _) => {
            let length = path.iter().take_while(|&&byte| byte != b'/').count();
            (0..=length).any(|skipped| naive(behind, &path[skipped..], false))
        }
        ([b'?', behind @ ..], [letter, rest @ ..]) => *letter != b'/' && naive(behind, rest, false),
        ([sign, behind @ ..], [letter, rest @ ..]) => {
            sign == letter && naive(behind, rest, *sign == b'/')
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_globs_agree_with_a_naive_matcher(glob in "([ab?*/]|\\*\\*/){0,9}", path in "[ab/]{0,9}") {
        let is_match = Glob::new(&glob).unwrap().is_match(&path);
        prop_assert_eq!(is_match, naive(glob.as_bytes(), path.as_bytes(), true), "{} {}", glob, path);
    }

    #[test]
    fn an_escaped_path_matches_only_itself(path in "[ab*?\\[\\]!^{},\\\\é/-]{0,9}", other in "[ab*é/]{0,9}") {
        let escaped: String = path.chars().flat_map(|letter| ['\\', letter]).collect();
        let glob = Glob::new(&escaped).unwrap();
        prop_assert!(glob.is_match(&path));
        prop_assert_eq!(glob.is_match(&other), other == path);
    }
}
