use super::{JobVariable, LONGEST_VALUE, TooLong, expand_with, expand_within};
use std::borrow::Cow;
use std::collections::HashMap;

/// Variables in order of precedence, lowest first, with lookup by name.
///
/// # Examples
///
/// ```
/// use executor_core::variable::{JobVariable, JobVariables};
///
/// let variables: JobVariables = [
///     JobVariable::public("WHO", "world"),
///     JobVariable::public("GREETING", "hello $WHO"),
/// ]
/// .into_iter()
/// .collect();
/// assert_eq!(variables.expand("${GREETING}!"), "hello $WHO!");
/// assert_eq!(variables.expanded().get("GREETING"), Some("hello world"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct JobVariables {
    list: Vec<JobVariable>,
    index: HashMap<String, usize>,
}

impl JobVariables {
    /// Returns an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable, or replaces the one of the same name in its position.
    pub fn push(&mut self, variable: JobVariable) {
        if let Some(&at) = self.index.get(&variable.key) {
            self.list[at] = variable;
        } else {
            self.index.insert(variable.key.clone(), self.list.len());
            self.list.push(variable);
        }
    }

    /// Returns the value of the variable `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.variable(key).map(|variable| variable.value.as_str())
    }

    /// Returns the variable `key`.
    pub fn variable(&self, key: &str) -> Option<&JobVariable> {
        self.position(key).map(|at| &self.list[at])
    }

    /// Returns the index of the variable `key` in the order of [`iter`](Self::iter).
    pub fn position(&self, key: &str) -> Option<usize> {
        self.index.get(key).copied()
    }

    /// Returns the variables in the order they were first added.
    pub fn iter(&self) -> std::slice::Iter<'_, JobVariable> {
        self.list.iter()
    }

    /// Returns the number of variables.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Replaces `$NAME` and `${NAME}` in `text` with the variables' values, in one pass.
    ///
    /// `$$` becomes one dollar sign; a reference to an unknown variable becomes empty text. Inserted
    /// values are not expanded again.
    pub fn expand<'t>(&self, text: &'t str) -> Cow<'t, str> {
        expand_with(text, |name| self.get(name).map(Cow::Borrowed))
    }

    /// Returns the variables with their values expanded, each in one pass.
    ///
    /// Raw and file variables keep their values, as do variables whose value would become longer than
    /// [`LONGEST_VALUE`].
    pub fn expanded(&self) -> Self {
        let list = self.list.iter().map(|variable| {
            if variable.raw || variable.file {
                return variable.clone();
            }
            let look_up = |name: &str| self.get(name).map(Cow::Borrowed);
            match expand_within(LONGEST_VALUE, &variable.value, look_up) {
                Ok(value) => JobVariable {
                    value: value.into_owned(),
                    ..variable.clone()
                },
                Err(TooLong { .. }) => variable.clone(),
            }
        });
        Self {
            list: list.collect(),
            index: self.index.clone(),
        }
    }
}

/// Returns a text, such as a name that is stored or shown, with the values of masked variables replaced by
/// `[MASKED]`, also where they are in another case.
///
/// ```
/// use executor_core::variable::{JobVariable, without_secrets};
///
/// let variables = [JobVariable::masked("TOKEN", "s3cret")];
/// assert_eq!(without_secrets("review/S3cret", &variables), "review/[MASKED]");
/// ```
pub fn without_secrets<'v>(
    text: &str,
    variables: impl IntoIterator<Item = &'v JobVariable>,
) -> String {
    let masked = variables.into_iter().filter(|variable| variable.masked);
    let mut secrets: Vec<&str> = masked.map(|variable| variable.value.trim()).collect();
    secrets.retain(|secret| !secret.is_empty());
    // A longer value may contain a shorter one.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.into_iter().fold(text.to_owned(), |text, secret| {
        let (lower, secret) = (text.to_ascii_lowercase(), secret.to_ascii_lowercase());
        let mut hidden = String::with_capacity(text.len());
        let mut from = 0;
        for (at, found) in lower.match_indices(&secret) {
            hidden.push_str(&text[from..at]);
            hidden.push_str("[MASKED]");
            from = at + found.len();
        }
        hidden + &text[from..]
    })
}

impl FromIterator<JobVariable> for JobVariables {
    fn from_iter<I: IntoIterator<Item = JobVariable>>(iter: I) -> Self {
        let mut variables = Self::new();
        variables.extend(iter);
        variables
    }
}

impl Extend<JobVariable> for JobVariables {
    fn extend<I: IntoIterator<Item = JobVariable>>(&mut self, iter: I) {
        iter.into_iter().for_each(|variable| self.push(variable));
    }
}

impl<'a> IntoIterator for &'a JobVariables {
    type Item = &'a JobVariable;
    type IntoIter = std::slice::Iter<'a, JobVariable>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_values_are_not_expanded_and_later_values_win() {
        let mut variables = JobVariables::new();
        variables.push(JobVariable::public("A", "old"));
        variables.push(JobVariable {
            raw: true,
            ..JobVariable::public("RAW", "$A")
        });
        variables.push(JobVariable::public("USES", "<$A $RAW>"));
        variables.push(JobVariable::public("A", "new"));
        let expanded = variables.expanded();
        assert_eq!(expanded.get("RAW"), Some("$A"));
        assert_eq!(expanded.get("USES"), Some("<new $A>"));
        assert_eq!(expanded.len(), 3);
    }

    #[test]
    fn value_beyond_the_limit_stays_unexpanded() {
        let bomb = "$LONG".repeat(2);
        let long = "x".repeat(LONGEST_VALUE / 2 + 1);
        let variables: JobVariables = [
            JobVariable::public("LONG", long),
            JobVariable::public("BOMB", bomb.as_str()),
        ]
        .into_iter()
        .collect();
        assert_eq!(variables.expanded().get("BOMB"), Some(bomb.as_str()));
    }
}
