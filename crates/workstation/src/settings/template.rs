//! The file that `config init` writes: all settings, as comments.

use super::{SECTIONS, SectionShape, SettingSection, SettingsFile};
use std::fmt::Write;

impl SettingsFile {
    /// Returns a file with all settings that it can contain, as comments.
    pub fn template(self) -> String {
        let mut text = match self {
            Self::User => "# Settings of Runwright for all your projects.\n".to_owned(),
            Self::Project => "# Settings of Runwright for this project.\n".to_owned(),
        };
        text += "#\n# Every line is a comment. To set a key, remove the `#` before it and before the [section] \
                 above it.\n# `runwright config show --origin` shows the current settings.\n";
        let sections = SECTIONS.iter();
        for section in sections.filter(|it| self.may_say(it.users_alone)) {
            text += "\n";
            text += &self.section_template(section);
        }
        text
    }

    fn section_template(self, section: &SettingSection) -> String {
        let mut text = commented(section.about);
        let title = match section.shape {
            SectionShape::Tables(name) => format!("[{}.{name}]", section.name),
            _ => section.title(),
        };
        let _ = writeln!(text, "#{title}");
        for key in section.keys {
            if !self.may_say(key.users_alone) {
                continue;
            }
            let name = match section.shape {
                SectionShape::Names => toml::Value::from(key.name).to_string(),
                _ => key.name.to_owned(),
            };
            let about = format!("{} ({})", without_links(key.about), key.kind.words());
            text += &commented(&about);
            match key.example.or(key.default) {
                Some(value) => {
                    let _ = writeln!(text, "#{name} = {value}");
                }
                None => {
                    let _ = writeln!(text, "# {name} = ...");
                }
            }
        }
        text
    }
}

/// Returns a text with the words of its Markdown links alone.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, after)) = link.split_once("](") else {
            break;
        };
        plain += before;
        plain += words;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

/// Returns a text as comment lines.
fn commented(text: &str) -> String {
    const WIDTH: usize = 96;
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + word.len() + 1 > WIDTH {
            let _ = writeln!(lines, "#{line}");
            line.clear();
        }
        line.push(' ');
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(lines, "#{line}");
    }
    lines
}
