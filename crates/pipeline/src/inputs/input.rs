use super::text::text_of;
use super::value::{InputKind, Role, is_option};
use crate::expression::Expression;
use crate::pattern::Pattern;
use std::sync::Arc;
use yaml::Node;
use yaml::source::Span;

/// An input declared by a header or a job.
#[derive(Debug, Clone)]
pub(crate) struct InputDefinition {
    pub(crate) name: Arc<str>,
    /// The location of the name.
    pub(crate) key_span: Span,
    pub(crate) kind: InputKind,
    /// The default as written; null is a default too.
    pub(crate) default: Option<Arc<Node>>,
    pub(crate) options: Option<Vec<Arc<Node>>>,
    pub(crate) regex: Option<Pattern>,
    pub(super) rules: Option<Vec<InputRule>>,
}

/// One of the `rules` of an input; the first that matches determines the options and the default.
#[derive(Debug, Clone)]
pub(super) struct InputRule {
    /// The condition; a rule without one always matches.
    pub(super) condition: Option<Arc<Expression>>,
    pub(super) options: Vec<Arc<Node>>,
    pub(super) default: Option<Arc<Node>>,
}

impl InputDefinition {
    /// Returns the problems of a coerced value; `options` are the effective ones.
    pub(super) fn problems(
        &self,
        value: &Node,
        role: Role,
        options: Option<&[Arc<Node>]>,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let role = role.word();
        if !self.kind.is_type_of(value) {
            let article = if self.kind == InputKind::Array {
                "an"
            } else {
                "a"
            };
            let kind = self.kind.name();
            problems.push(format!("{role} value is not {article} {kind}"));
            return problems;
        }
        if let Some(options) = options
            && !options.iter().any(|option| is_option(option, value))
        {
            let shown = text_of(value).unwrap_or_default();
            problems.push(format!(
                "`{shown}` cannot be used because it is not in the list of allowed options"
            ));
        }
        if let (Some(regex), Some(text)) = (&self.regex, value.as_str())
            && !regex.is_match(text)
        {
            problems.push(format!(
                "{role} value does not match required RegEx pattern"
            ));
        }
        problems
    }
}
