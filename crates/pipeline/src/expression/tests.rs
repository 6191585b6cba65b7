use super::*;

const VARIABLES: [(&str, &str); 7] = [
    ("A", "abc"),
    ("EMPTY", ""),
    ("BLANK", " \n"),
    ("WORD", "true"),
    ("REGEX", "/B/i"),
    ("BROKEN", "/(/"),
    ("LINES", "first\n/b/\nlast"),
];

fn parse(text: &str) -> Expression {
    Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Checks the value of an expression, in the notation of expressions.
fn check(text: &str, expect: &str) {
    let expression = parse(text);
    assert_eq!(
        expression.evaluate(&VARIABLES).to_string(),
        expect,
        "{text}"
    );
}

/// Checks the part, message and help of an expression's error.
fn refused(text: &str, part: &str, words: &str, help: &str) {
    let error = Expression::parse(text).expect_err(text);
    let is = (
        &text[error.range.clone()],
        &*error.message,
        error.help.unwrap_or_default(),
    );
    assert_eq!(is, (part, words, help.to_owned()), "{text}");
}

#[test]
fn comparisons_are_typed() {
    check("$NO == null", "true");
    check("$EMPTY == null", "false");
    check("$WORD == true", "true");
    check("false == 'false'", "true");
    check("false == null", "false");
    check("/ab/ == /ab/", "true");
    check("/ab/ == /ab/i", "false");
    check("$A == 'abc' == true", "true");
    check("$A != 'abc' != 'x'", "true");
}

#[test]
fn text_is_matched_as_a_pattern_or_else_as_a_substring_search() {
    check("$A =~ $REGEX", "true");
    check("$A =~ '/^b/'", "false");
    check("$A =~ $LINES", "true");
    check("'b' =~ $A", "true");
    check("$A =~ 'b'", "false");
    check("$EMPTY =~ $EMPTY", "true");
    check("'(' =~ $BROKEN", "true");
    check("$NO =~ /^$/m", "true");
    check("$A =~ $NO", "false");
    check("$A !~ $NO", "true");
    check("true =~ /rue/", "true");
    check("/ab/ =~ /ab/", "false");
    check("$A =~ /a\\/b|b/", "true");
}

#[test]
fn an_expression_that_cannot_be_evaluated_is_false() {
    check("$A =~ true", "null");
    check("!($A =~ true)", "null");
    check("$A || $A =~ true", "\"abc\"");
    assert!(!parse("$A !~ true").is_true(&VARIABLES));
}

#[test]
fn logic_yields_operands() {
    check("$EMPTY || $A", "\"\"");
    check("$EMPTY && $A", "\"abc\"");
    check("$NO && $A", "null");
    check("$NO || false || $NO", "null");
    check("$A && /ab/", "/ab/");
    check("$A || $NO && $NO", "\"abc\"");
    check("!!$A", "true");
    check("!$BLANK", "true");
    check("!$A == false", "true");
    check("!($A == 'abc')", "false");
    check("$A == !$NO", "false");
}

#[test]
fn an_expression_is_true_unless_blank() {
    let is_true = |text: &str| parse(text).is_true(&VARIABLES);
    assert!(is_true("$A"));
    assert!(is_true("/ab/"));
    assert!(is_true("$EMPTY && $A"));
    assert!(!is_true("$EMPTY || $A"));
    assert!(!is_true("$BLANK"));
    assert!(!is_true("''"));
}

#[test]
fn operators_are_infix_or_prefix() {
    let none_before = |text: &str, part: &str| {
        let words = format!("an operator is missing before `{part}`");
        refused(text, part, &words, "join conditions with `&&` or `||`");
    };
    none_before("$A 'abc' ==", "'abc'");
    none_before("$A !", "!");
    none_before("$A ! $B", "!");
    none_before("$A == 'abc' $A", "$A");
    none_before("$A ()", "(");
    none_before("($A) ($B)", "(");
    refused("== $A 'abc'", "==", "an operand is missing before `==`", "");
    refused("() $A", ")", "an operand is missing before `)`", "");
    refused("! == $A", "==", "an operand is missing before `==`", "");
}

#[test]
fn regular_expressions_end_as_in_gitlab() {
    check("$A =~ /ab/ || /b\\//", "true");
    check("'a/' =~ /^a\\/$/", "true");
    check("'ab/' =~ /ab//", "true");
    check("'é' =~ /é?/", "true");
    assert!(Expression::parse("$A =~ /é/").is_err());
    assert!(Expression::parse("$A =~ /a\nb/").is_err());
    assert!(Expression::parse("$A =~ /ab\\/").is_err());
}

#[test]
fn inputs_are_operands() {
    struct Inputs;
    impl Variables for Inputs {
        fn get(&self, _name: &str) -> Option<&str> {
            None
        }
        fn input(&self, name: &str) -> Option<&str> {
            (name == "my-size").then_some("large")
        }
    }
    let expression = parse("$[[ inputs.my-size ]] == 'large' && $[[inputs.no]] == null");
    assert!(expression.is_true(&Inputs));
    assert_eq!(expression.inputs().collect::<Vec<_>>(), ["my-size", "no"]);
}

#[test]
fn an_expression_names_its_variables_once() {
    let expression = parse("$A == $B || $A =~ /x$y/ || '$C'");
    assert_eq!(expression.variables().collect::<Vec<_>>(), ["A", "B"]);
}

#[test]
fn the_right_word_or_sign_is_suggested() {
    let word = "the word `main` has no quotes";
    refused(
        "$A == main",
        "main",
        word,
        "put quotes around it: `\"main\"`",
    );
    refused(
        "CI_TAG",
        "CI_TAG",
        "the word `CI_TAG` has no quotes",
        "put quotes around it: `\"CI_TAG\"`, or `$CI_TAG` for a variable",
    );
    refused(
        "$A == True",
        "True",
        "the word `True` has no quotes",
        "write `true`",
    );
    refused(
        "$A and $B",
        "and",
        "the word `and` has no quotes",
        "write `&&`",
    );
    refused(
        "${CI_TAG} == 'x'",
        "${CI_TAG}",
        "variables have no braces here",
        "write `$CI_TAG`",
    );
    refused(
        "%A% == 'x'",
        "%A%",
        "variables have no percent signs here",
        "write `$A`",
    );
    refused("$A = 'x'", "=", "`=` means nothing here", "write `==`");
    refused("$A === 'x'", "=", "`=` means nothing here", "write `==`");
    refused("$A | $B", "|", "`|` means nothing here", "write `||`");
    refused("$A ~= /xx/", "~=", "`~=` means nothing here", "write `=~`");
    refused(
        "$A > '1'",
        ">",
        "`>` means nothing here",
        "numbers cannot be compared; use `==`, `!=`, `=~` or `!~`",
    );
    refused(
        "$[[ input.x ]]",
        "$[[ input.x ]]",
        "this is not an input",
        "write `$[[ inputs.NAME ]]`",
    );
    refused(
        "$(date) == 'x'",
        "$",
        "there is no variable name after `$`",
        "commands cannot be run here",
    );
    refused(
        "'a\nb'",
        "'a\nb'",
        "the text in quotes spans more than one line",
        "a text in quotes cannot contain a line break",
    );
    refused(
        "$A == \"x",
        "\"x",
        "the text in quotes is never closed",
        "add a `\"`",
    );
}

#[test]
fn errors_of_regular_expressions_have_help() {
    refused(
        "$A =~ /a/",
        "/a/",
        "a regular expression of a single character is not recognized",
        "write `/[a]/`",
    );
    refused(
        "$A =~ /./",
        "/./",
        "a regular expression of a single character is not recognized",
        "write `/(?:.)/`",
    );
    refused(
        "$A =~ //",
        "//",
        "the regular expression is empty",
        "write `/.*/` for any text",
    );
    refused(
        "$A =~ /ab",
        "/ab",
        "the regular expression is never closed",
        "add a `/`, or put quotes around text",
    );
    refused(
        "$A =~ /ab/cd/",
        "cd/",
        "`cd/` follows a regular expression directly",
        "write a slash in it as `\\/`; its flags are i, s, m and U",
    );
    refused(
        "$A =~ /a(?=b)/",
        "(?=b)/",
        "look-around `(?=` is not RE2 syntax",
        "GitLab's regular expressions have no look-around; combine two conditions with `=~` and \
         `!~` instead",
    );
}

#[test]
fn missing_operands_and_operators_are_named() {
    refused("", "", "the expression is empty", "");
    refused("()", ")", "an operand is missing before `)`", "");
    refused(
        "($A",
        "(",
        "the parenthesis `(` is never closed",
        "add a `)`",
    );
    refused("$A)", ")", "the parenthesis `)` closes nothing", "");
    refused("$A ==", "==", "an operand is missing after `==`", "");
    refused("&& $A", "&&", "an operand is missing before `&&`", "");
    refused("$A == 'a' ||", "||", "an operand is missing after `||`", "");
    refused(
        "$A $B",
        "$B",
        "an operator is missing before `$B`",
        "join conditions with `&&` or `||`",
    );
}

#[test]
fn a_hundred_parts_are_too_many() {
    let joined = |operands: usize| vec!["$A"; operands].join(" && ");
    assert!(Expression::parse(&joined(50)).is_ok());
    let error = Expression::parse(&joined(51)).unwrap_err();
    assert_eq!(error.message, "the expression has more than 99 parts");
    let deep = format!("{}$A", "!".repeat(98));
    assert!(parse(&deep).is_true(&VARIABLES));
    assert!(Expression::parse(&"(".repeat(100_000)).is_err());
}

#[test]
fn a_trace_shows_each_comparison_with_its_values() {
    struct Secret;
    impl Variables for Secret {
        fn get(&self, name: &str) -> Option<&str> {
            match name {
                "TOKEN" => Some("s3cret"),
                "BRANCH" => Some("feature"),
                _ => None,
            }
        }
        fn is_masked(&self, name: &str) -> bool {
            name == "TOKEN" || name == "NO"
        }
    }
    let text = "($BRANCH == \"main\" ||\n  $BRANCH =~ /^feat/i) && !$TOKEN && ($NO || $TOKEN)\n\
                && ($TOKEN || $NO) == 'x'";
    let trace = parse(text).trace(&Secret);
    insta::assert_snapshot!(trace, @r#"
    $BRANCH == "main"   ("feature" == "main") is false
    $BRANCH =~ /^feat/i   ("feature" =~ /^feat/i) is true
    !$TOKEN   (![MASKED]) is false
    $NO   is null
    $TOKEN   is [MASKED]
    ($TOKEN || $NO) == 'x'   ([MASKED] == "x") is false
    $TOKEN   is [MASKED]
    $NO   is null
    "#);
    assert!(!trace.is_true);
}

#[test]
fn debug_output_shows_no_value() {
    let expression = parse("$A =~ $SECRET");
    assert!(expression.is_true(&[("A", "x"), ("SECRET", "/s3cret|x/")]));
    assert!(!format!("{expression:?}").contains("s3cret"));
}

#[test]
fn equal_texts_are_read_once() {
    let mut expressions = Expressions::default();
    let first = expressions.parse("$A == 'x'").unwrap();
    let second = expressions.parse("$A == 'x'").unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert!(expressions.parse("$A =").is_err());
    assert!(expressions.parse("$A =").is_err());
}
