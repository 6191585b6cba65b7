use crate::project::read_file::{ReadError, read_inside, read_text};
use executor_core::variable::JobVariable;
use pipeline::context::{ExternalSource, ExternalVariable, Level};
use pipeline::{Diagnostic, Diagnostics};
use std::path::{Path, PathBuf};
use yaml::source::Span;
use yaml::{Entry, Node};

/// The scope of variables for all environments.
const ALL_ENVIRONMENTS: &str = "*";

/// The keys of a variable.
const KEYS: [&str; 9] = [
    "value",
    "values",
    "type",
    "variable_type",
    "masked",
    "protected",
    "environment_scope",
    "expand",
    "description",
];

/// Reads variables of one level from one file.
#[derive(Debug)]
pub(super) struct ValueReader<'a> {
    /// The name of the file in messages.
    pub(super) file: &'a str,
    pub(super) level: Level,
    /// The directory for `~`.
    pub(super) home: Option<&'a Path>,
    /// The directory that the named files must be in, if any.
    pub(super) root: Option<&'a Path>,
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) variables: Vec<ExternalVariable>,
}

/// How the variables of a project's file get files of the machine.
const OF_PROJECT: &str = "a file in the project names files of the project alone; \
    move the variable to ~/.gitlab-ci-local/variables.yml, or use `--secret NAME=@FILE`; \
    `{type: variable, value: TEXT}` sets the text itself";

/// The attributes of a variable.
#[derive(Debug, Clone)]
struct Attributes {
    /// Whether it is a file variable, if the file says.
    is_file: Option<bool>,
    is_masked: bool,
    is_protected: bool,
    is_raw: bool,
    scope: String,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            is_file: None,
            is_masked: false,
            is_protected: false,
            is_raw: false,
            scope: ALL_ENVIRONMENTS.to_owned(),
        }
    }
}

impl ValueReader<'_> {
    /// Reads a hash of variables.
    pub(super) fn read_hash(&mut self, node: &Node) {
        if node.is_null() {
            return;
        }
        let Some(entries) = node.as_mapping() else {
            let kind = node.kind_name();
            let message = format!("variables are a hash of names and values, not {kind}");
            self.refuse(node.span, message);
            return;
        };
        for (name, entry) in entries {
            self.read_entry(name, entry);
        }
    }

    /// Adds a variable whose value is plain text.
    pub(super) fn add_text(&mut self, name: &str, value: String, span: Span) {
        let attributes = Attributes {
            is_file: Some(false),
            ..Attributes::default()
        };
        self.add(name, value, span, span, &attributes);
    }

    fn read_entry(&mut self, name: &str, entry: &Entry) {
        let value = &entry.value;
        if let Some(text) = value.to_scalar_text() {
            self.add(
                name,
                text,
                entry.key_span,
                value.span,
                &Attributes::default(),
            );
            return;
        }
        let Some(fields) = value.as_mapping() else {
            let message = format!("{name} should be text or a hash");
            self.refuse(value.span, message);
            return;
        };
        for (key, field) in fields {
            if !KEYS.contains(&&**key) {
                let message = format!("{name} has an unknown key: {key}");
                let known = format!("known are {}", KEYS.join(", "));
                self.diagnostics.push(
                    Diagnostic::error("invalid-variable", message)
                        .at(field.key_span)
                        .with_help(known),
                );
            }
        }
        let attributes = self.attributes(name, value);
        let one = fields.get("value").map(|field| (None, field));
        let scoped = fields.get("values");
        let many = scoped.and_then(|field| field.value.as_mapping());
        if let Some(field) = scoped
            && many.is_none()
        {
            let message = format!("{name}:values should be a hash of environments and values");
            self.refuse(field.value.span, message);
        }
        if one.is_none() && scoped.is_none() {
            self.refuse(value.span, format!("{name} has no value"));
        }
        let many = many.into_iter().flatten();
        let many = many.map(|(scope, field)| (Some(scope.to_string()), field));
        for (scope, field) in one.into_iter().chain(many) {
            let Some(text) = field.value.to_scalar_text() else {
                let message = format!("the value of {name} should be text");
                self.refuse(field.value.span, message);
                continue;
            };
            let mut attributes = attributes.clone();
            if let Some(scope) = scope {
                attributes.scope = scope;
            }
            self.add(name, text, field.key_span, field.value.span, &attributes);
        }
    }

    fn attributes(&mut self, name: &str, node: &Node) -> Attributes {
        let mut attributes = Attributes::default();
        let kind = node.get("type").or_else(|| node.get("variable_type"));
        if let Some(kind) = kind {
            match kind.as_str() {
                Some("file") => attributes.is_file = Some(true),
                Some("variable" | "env_var") => attributes.is_file = Some(false),
                _ => {
                    let message = format!("{name}:type should be `variable` or `file`");
                    self.refuse(kind.span, message);
                }
            }
        }
        if let Some(scope) = node.get("environment_scope") {
            match scope.as_str() {
                Some(scope) if !scope.is_empty() => scope.clone_into(&mut attributes.scope),
                _ => {
                    let message = format!("{name}:environment_scope should be text");
                    self.refuse(scope.span, message);
                }
            }
        }
        let mut flag = |key: &str| {
            let field = node.get(key)?;
            let flag = match field.kind {
                yaml::Kind::Bool(flag) => Some(flag),
                _ => None,
            };
            if flag.is_none() {
                self.refuse(field.span, format!("{name}:{key} should be true or false"));
            }
            flag
        };
        attributes.is_masked = flag("masked").unwrap_or(false);
        attributes.is_protected = flag("protected").unwrap_or(false);
        attributes.is_raw = !flag("expand").unwrap_or(true);
        attributes
    }

    fn add(&mut self, name: &str, value: String, key: Span, at: Span, attributes: &Attributes) {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_valid) {
            // A misplaced secret may be taken for a name, so it is not shown.
            let message = "this is not the name of a variable".to_owned();
            let error = Diagnostic::error("invalid-variable", message).at(key);
            let help = "a name has letters, digits and `_` only, as on GitLab".to_owned();
            self.diagnostics.push(error.with_help(help));
            return;
        }
        let (value, is_file) = match attributes.is_file {
            Some(is_file) => (value, is_file),
            None => match self.named_file(&value) {
                None => (value, false),
                Some(path) => match self.read_named(&path) {
                    Ok(content) => (content, true),
                    Err(error) => {
                        let message = format!("cannot read the file in {name}: {error}");
                        let error = Diagnostic::error("invalid-variable", message).at(at);
                        let help = self.root.map(|_| OF_PROJECT.to_owned());
                        self.diagnostics.push(error.with_help(help));
                        return;
                    }
                },
            },
        };
        if value.contains('\0') {
            self.refuse(at, format!("the value of {name} has a NUL character"));
            return;
        }
        if attributes.is_masked
            && let Some(problem) = mask_problem(&value, attributes.is_raw)
        {
            let message = format!("GitLab does not accept {name} as masked: {problem}");
            let help = "it is masked here anyway".to_owned();
            let warning = Diagnostic::warning("mask-refused", message);
            self.diagnostics.push(warning.at(at).with_help(help));
        }
        self.variables.push(ExternalVariable {
            variable: JobVariable {
                key: name.to_owned(),
                value,
                public: false,
                file: is_file,
                masked: attributes.is_masked,
                raw: attributes.is_raw || is_file,
            },
            level: self.level,
            scope: attributes.scope.clone(),
            is_protected: attributes.is_protected,
            source: ExternalSource::File {
                path: self.file.to_owned(),
                line: key.line,
            },
        });
    }

    /// Returns the file that plain text names, if it exists.
    fn named_file(&self, value: &str) -> Option<PathBuf> {
        let path = match value.strip_prefix("~/") {
            Some(below) => self.home?.join(below),
            None if value.starts_with('/') => PathBuf::from(value),
            None => return None,
        };
        path.is_file().then_some(path)
    }

    fn read_named(&self, path: &Path) -> Result<String, ReadError> {
        match self.root {
            Some(root) => read_inside(root, path),
            None => read_text(path),
        }
    }

    fn refuse(&mut self, span: Span, message: String) {
        let error = Diagnostic::error("invalid-variable", message);
        self.diagnostics.push(error.at(span));
    }
}

/// The shortest value that GitLab masks.
const MIN_MASKED: usize = 8;

/// Returns why GitLab refuses a value as masked, if it does.
fn mask_problem(value: &str, is_raw: bool) -> Option<&'static str> {
    if value.contains(['\n', '\r']) {
        return Some("it has several lines");
    }
    if value.contains(char::is_whitespace) {
        return Some("it has spaces");
    }
    if value.chars().count() < MIN_MASKED {
        return Some("it is shorter than 8 characters");
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "_+=/@:.~-".contains(c);
    if !is_raw && !value.chars().all(fits) {
        return Some(
            "it has characters besides letters, digits and `_+=/@:.~-`, which needs `expand: false`",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_gitlab_masks_are_accepted() {
        let check = |value: &str, is_raw: bool, fits: bool| {
            assert_eq!(mask_problem(value, is_raw).is_none(), fits, "of {value:?}");
        };
        check("abcdefg8", false, true);
        check("a_+=/@:.~-", false, true);
        check("short", false, false);
        check("two words here", true, false);
        check("line\nand another", true, false);
        check("pa$$word!", false, false);
        check("pa$$word!", true, true);
    }
}
