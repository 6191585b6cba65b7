use executor_core::job::SecretString;
use jiff::Timestamp;
use toml_edit::{Item, Key, Table, Value};
use web::Url;

/// A runner to add to a file.
#[derive(Debug, Clone)]
pub struct NewRunner {
    /// The name.
    pub name: String,
    /// The address of GitLab.
    pub url: Url,
    /// The id at GitLab.
    pub id: u64,
    /// The token.
    pub token: SecretString,
    /// When the token was created.
    pub token_obtained_at: Timestamp,
    /// When the token expires; `None` for never.
    pub token_expires_at: Option<Timestamp>,
    /// The executor.
    pub executor: String,
    /// Further keys of `[[runners]]`, and the tables of the executor.
    pub settings: Table,
}

impl NewRunner {
    /// Returns the runner as `[[runners]]`, in the form of GitLab Runner.
    pub(super) fn to_toml(&self) -> String {
        let url = self.url.as_str().trim_end_matches('/');
        let lines = [
            ("name", quoted(&self.name)),
            ("url", quoted(url)),
            ("id", self.id.to_string()),
            ("token", quoted(self.token.expose())),
            ("token_obtained_at", time(Some(self.token_obtained_at))),
            ("token_expires_at", time(self.token_expires_at)),
            ("executor", quoted(&self.executor)),
        ];
        let mut text = String::new();
        line(&mut text, "[[runners]]");
        for (key, value) in lines {
            line(&mut text, &format!("  {key} = {value}"));
        }
        write_table(&self.settings, "runners", 1, &mut text);
        text
    }
}

/// Writes the values of a table, then the tables in it.
fn write_table(table: &Table, path: &str, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for (key, item) in table {
        if let Item::Value(value) = item {
            let mut value = value.clone();
            value.decor_mut().clear();
            line(text, &format!("{indent}{} = {value}", shown(key)));
        }
    }
    for (key, item) in table {
        let path = format!("{path}.{}", shown(key));
        match item {
            Item::Table(table) => {
                line(text, &format!("{indent}[{path}]"));
                write_table(table, &path, depth + 1, text);
            }
            Item::ArrayOfTables(tables) => {
                for table in tables {
                    line(text, &format!("{indent}[[{path}]]"));
                    write_table(table, &path, depth + 1, text);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Returns a key with quotes if it needs them.
fn shown(key: &str) -> String {
    Key::new(key).display_repr().into_owned()
}

/// Returns a text with quotes.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns a time in whole seconds; the year 1 for never, as GitLab Runner writes it.
pub(super) fn time(time: Option<Timestamp>) -> String {
    match time.and_then(|time| Timestamp::from_second(time.as_second()).ok()) {
        Some(time) => time.to_string(),
        None => "0001-01-01T00:00:00Z".to_owned(),
    }
}
