use pipeline::expression::Expression;

/// Values that meet each of an expression's cases: empty, blank, text, and patterns good and bad.
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
/// When the explanation of a condition does not come to what the condition does.
pub fn expression(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Expression::parse(&text) {
        Ok(expression) => {
            let holds = expression.is_true(&VARIABLES);
            let trace = expression.trace(&VARIABLES);
            assert_eq!(trace.is_true, holds, "{text:?} is explained otherwise");
            let again = Expression::parse(expression.text());
            assert_eq!(again.as_ref(), Ok(&expression));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
