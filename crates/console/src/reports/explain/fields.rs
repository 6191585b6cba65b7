use super::{WIDTH, heading, place, push_pair};
use crate::text::{Style, Tone, columns, cut, strip_controls};
use pipeline_insight::explain::{ExplainedField, FieldSource};
use serde_json::Value;

/// Adds the keywords of a job, each with its value and who says it.
pub(super) fn push(text: &mut String, fields: &[ExplainedField], style: Style) {
    heading(text, "keywords", style);
    // What decides about the job stands above, entry by entry.
    let is_shown = |field: &&ExplainedField| !matches!(&*field.key, "rules" | "only" | "except");
    for field in fields.iter().filter(is_shown) {
        let key = strip_controls(&field.key);
        let gap = " ".repeat(14usize.saturating_sub(columns(&key)).max(1));
        let room = WIDTH.saturating_sub("  ".len() + columns(&key) + gap.len());
        let value = cut(&one_line(&field.value), room, style.ellipsis());
        let key = style.paint(Tone::Plain, &key);
        push_pair(text, &format!("  {key}{gap}{value}"), &origin(field), style);
    }
}

/// Returns a value as it is when it is one plain line, else as JSON.
fn one_line(value: &Value) -> String {
    let is_plain = |text: &&str| !text.is_empty() && !text.contains(char::is_control);
    let plain = value.as_str().filter(is_plain);
    strip_controls(&plain.map_or_else(|| value.to_string(), str::to_owned))
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
