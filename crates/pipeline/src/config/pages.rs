//! `pages`: whether and how a job publishes pages, and the old `publish`.

use super::reader::{Field, Reader, quotes_help};
use executor_core::job::{PagesDefinition, PagesSettings};
use executor_core::parse_duration;
use yaml::Kind;

/// Reads `pages`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<PagesDefinition> {
    match field.node.kind {
        Kind::Bool(flag) => Some(PagesDefinition::Flag(flag)),
        Kind::Mapping(_) => {
            let mut settings = PagesSettings::default();
            let known = ["path_prefix", "expire_in", "publish"];
            reader.attributes(field, &known, |reader, key, field| match key {
                "path_prefix" => settings.path_prefix = reader.string(field),
                "expire_in" => settings.expire_in = read_expiry(reader, field),
                _ => settings.publish = reader.string(field),
            });
            Some(PagesDefinition::Settings(settings))
        }
        _ => {
            let words = "should be a hash or a boolean value";
            reader.refuse_with_help(field, words, quotes_help(field.node));
            None
        }
    }
}

fn read_expiry(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    let fits = text == "never" || text.starts_with('$') || parse_duration(&text).is_some();
    if !fits {
        let help = "write for example `1 week`, `never` or a variable".to_owned();
        reader.refuse_with_help(field, "should be a duration", Some(help));
        return None;
    }
    Some(text)
}
