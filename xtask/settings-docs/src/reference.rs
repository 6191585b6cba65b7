//! The settings reference of the guide.

use std::fmt::Write;
use workstation::{SECTIONS, SettingKey, SettingSection};

/// Returns the reference in Markdown.
pub(crate) fn reference() -> String {
    SECTIONS.iter().map(section).collect()
}

fn section(section: &SettingSection) -> String {
    let mut text = format!("### `{}`\n\n", section.title());
    if !section.about.is_empty() {
        let _ = writeln!(text, "{}\n", section.about);
    }
    if let Some(why) = section.users_alone {
        let _ = writeln!(text, "Only in the user's file: {why}.\n");
    }
    let has_options = section.name == "run";
    text += if has_options {
        "| key | option and variable | value | means |\n|---|---|---|---|\n"
    } else {
        "| key | value | means |\n|---|---|---|\n"
    };
    for key in section.keys {
        let names = if has_options {
            format!(" `--{}`, `{}` |", key.name, key.variable())
        } else {
            String::new()
        };
        let (name, kind, about) = (key.name, key.kind.words(), meaning(key));
        let _ = writeln!(text, "| `{name}` |{names} {kind} | {about} |");
    }
    text + "\n"
}

/// Returns the description of a key, with its default and any restriction to the user's file.
fn meaning(key: &SettingKey) -> String {
    let mut text = key.about.to_owned();
    if let Some(default) = key.default {
        let _ = write!(text, "; default `{default}`");
    }
    if let Some(why) = key.users_alone {
        let _ = write!(text, ". Only in the user's file: {why}");
    }
    text
}
