use pipeline::expression::Expression;

/// Values for each case of an expression: empty, blank, text, and valid and invalid patterns.
const VARIABLES: [(&str, &str); 6] = [
    ("A", ""),
    ("B", "main"),
    ("C", " "),
    ("D", "/^ma/i"),
    ("E", "/(/"),
    ("CI_COMMIT_BRANCH", "feature/x"),
];

/// Reads the bytes as a condition and evaluates it.
///
/// # Panics
///
/// If the explanation of a condition differs from its result.
pub fn expression(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Expression::parse(&text) {
        Ok(expression) => {
            let is_true = expression.is_true(&VARIABLES);
            let trace = expression.trace(&VARIABLES);
            assert_eq!(
                trace.is_true, is_true,
                "the explanation of {text:?} differs"
            );
            let again = Expression::parse(expression.text());
            assert_eq!(again.as_ref(), Ok(&expression));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
