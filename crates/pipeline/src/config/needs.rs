use super::reader::{Field, Reader, Spanned};
use crate::diagnostic::Diagnostic;
use crate::yaml::Node;
use executor_core::job::{CrossNeed, Need};

/// How many needs may point out of the pipeline.
const MOST_CROSS_NEEDS: usize = 5;

/// One entry of `needs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedEntry {
    /// A job of this pipeline.
    Job(Need),
    /// A job elsewhere.
    Cross(CrossNeed),
}

/// Reads `needs`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<Spanned<NeedEntry>>> {
    let items = if field.node.as_sequence().is_some() {
        reader.flattened(field)?
    } else if field.node.as_mapping().is_some() && !field.node.is_blank() {
        vec![field.node]
    } else {
        reader.refuse(field, "can only be a hash or an array");
        return None;
    };
    let path = field.path.child("need");
    let mut needs = Vec::with_capacity(items.len());
    // Real files have empty items, and GitLab takes them as nothing.
    for node in items.into_iter().filter(|node| !node.is_null()) {
        let span = node.span;
        let entry = read_entry(reader, Field { node, path: &path });
        needs.extend(entry.map(|value| Spanned { value, span }));
    }
    let is_cross = |need: &&Spanned<NeedEntry>| matches!(need.value, NeedEntry::Cross(_));
    if needs.iter().filter(is_cross).count() > MOST_CROSS_NEEDS {
        let words = format!("may name at most {MOST_CROSS_NEEDS} jobs of other pipelines");
        reader.refuse(field, words);
    }
    Some(needs)
}

fn read_entry(reader: &mut Reader<'_>, field: Field<'_>) -> Option<NeedEntry> {
    if field.node.is_blank() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    if let Some(job) = field.node.as_str() {
        return Some(NeedEntry::Job(Need::of(job)));
    }
    if field.node.as_mapping().is_none() {
        reader.refuse(field, "should be a string or a hash");
        return None;
    }
    if field.node.get("project").is_some() || field.node.get("pipeline").is_some() {
        return Some(read_cross(reader, field));
    }
    let mut need = Need::of("");
    let known = ["job", "artifacts", "optional", "parallel"];
    reader.entries(field, &known, |reader, key, field| match key {
        "job" => need.job = reader.string(field).unwrap_or_default(),
        "artifacts" => need.artifacts = reader.boolean(field).unwrap_or(true),
        "optional" => need.optional = reader.boolean(field).unwrap_or(false),
        _ => unsupported(reader, field, "`needs:parallel`"),
    });
    if need.job.is_empty() {
        reader.refuse(field, "should name a job");
        return None;
    }
    Some(NeedEntry::Job(need))
}

fn read_cross(reader: &mut Reader<'_>, field: Field<'_>) -> NeedEntry {
    let known: &[&str] = if field.node.get("project").is_some() {
        &["project", "job", "ref", "artifacts"]
    } else {
        &["pipeline", "job", "artifacts"]
    };
    let mut need = CrossNeed::default();
    reader.entries(field, known, |reader, key, field| match key {
        "project" => need.project = reader.string(field),
        "pipeline" => need.pipeline = reader.string(field),
        "job" => need.job = reader.string(field),
        "ref" => need.ref_name = reader.string(field),
        _ => need.artifacts = reader.boolean(field),
    });
    if need.job.is_none() {
        reader.refuse(field, "should name a job");
    }
    let message = format!("{} points out of the pipeline and is ignored", field.path);
    let warning = Diagnostic::warning("unsupported-keyword", message);
    reader.diagnostics.push(warning.at(field.node.span));
    NeedEntry::Cross(need)
}

fn unsupported(reader: &mut Reader<'_>, field: Field<'_>, what: &str) {
    let message = format!("{what} is not supported yet");
    let error = Diagnostic::error("unsupported-keyword", message);
    reader.diagnostics.push(error.at(field.node.span));
}

/// Reads `dependencies`.
pub(super) fn read_dependencies(
    reader: &mut Reader<'_>,
    field: Field<'_>,
) -> Option<Vec<Spanned<String>>> {
    let names = reader.strings(field)?;
    let nodes = field.node.as_sequence().unwrap_or_default();
    let spans = nodes.iter().map(|node: &std::sync::Arc<Node>| node.span);
    let spanned = names.into_iter().zip(spans);
    Some(
        spanned
            .map(|(value, span)| Spanned { value, span })
            .collect(),
    )
}
