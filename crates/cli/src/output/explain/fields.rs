use super::{heading, place, push_pair};
use crate::output::style::{Style, Tone};
use crate::output::{columns, strip_controls};
use runwright::pipeline::explain::{ExplainedField, FieldSource};

/// Adds the keywords of a job, each with its value and who says it.
pub(super) fn push(text: &mut String, fields: &[ExplainedField], style: Style) {
    heading(text, "keywords", style);
    // What decides about the job stands above, entry by entry.
    let is_shown = |field: &&ExplainedField| !matches!(&*field.key, "rules" | "only" | "except");
    for field in fields.iter().filter(is_shown) {
        let key = strip_controls(&field.key);
        let value = one_line(&field.value);
        let gap = " ".repeat(14usize.saturating_sub(columns(&key)).max(1));
        let key = style.paint(Tone::Plain, &key);
        push_pair(text, &format!("  {key}{gap}{value}"), &origin(field), style);
    }
}

/// Returns a value without the quotes of plain text.
fn one_line(json: &str) -> String {
    let text = serde_json::from_str::<String>(json).ok();
    let plain = text.filter(|text| !text.is_empty() && !text.contains(char::is_control));
    strip_controls(&plain.unwrap_or_else(|| json.to_owned()))
}

fn origin(field: &ExplainedField) -> String {
    let written = place(&field.place);
    match &field.source {
        FieldSource::Own => written,
        FieldSource::From(key) => format!("{}, {written}", strip_controls(key)),
        FieldSource::Default => format!("default, {written}"),
        FieldSource::Global => format!("for all jobs, {written}"),
        FieldSource::Rule => format!("rule, {written}"),
    }
}
