use executor_core::BuildError;

/// A refused request, with the list that refuses it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{name}` is not allowed: {because}")]
pub struct Refusal {
    what: &'static str,
    name: String,
    because: String,
}

/// How many entries of a list a message names.
const MOST: usize = 10;
/// The length limit of a name in a message.
const LONGEST: usize = 200;

impl Refusal {
    /// Returns a refusal of a name that is not on the list `key`.
    pub(super) fn not_on(what: &'static str, name: &str, key: &str, list: &[String]) -> Self {
        let shown: Vec<&str> = list.iter().take(MOST).map(String::as_str).collect();
        let more = match list.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let because = format!("the runner's {key} has only {}{more}", shown.join(", "));
        Self::because(what, name, because)
    }

    /// Returns a refusal for another reason.
    pub(super) fn because(what: &'static str, name: &str, because: impl Into<String>) -> Self {
        let mut name: String = name.chars().filter(|it| !it.is_control()).collect();
        if let Some((end, _)) = name.char_indices().nth(LONGEST) {
            name.truncate(end);
            name.push('…');
        }
        Self {
            what,
            name,
            because: because.into(),
        }
    }
}

impl From<Refusal> for BuildError {
    fn from(refusal: Refusal) -> Self {
        Self::Config {
            message: refusal.to_string(),
            source: None,
        }
    }
}
