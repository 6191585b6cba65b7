use super::Spanned;
use super::matrix;
use super::need::{JobNeed, Matrix, NeedEntry, NeedPlace};
use super::reader::{Field, Reader, list_help};
use super::rule_list::RulePlace;
use executor_core::job::{CrossNeed, Need};
use std::sync::Arc;
use yaml::Node;
use yaml::diagnostic::Diagnostic;

/// The maximum number of needs in other pipelines, and of those in other projects.
const MOST_CROSS_NEEDS: usize = 5;
/// The maximum length of a needed job's name, in characters.
const LONGEST_NAME: usize = 255;

/// Reads `needs`.
pub(super) fn read(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    place: NeedPlace,
) -> Option<Vec<Spanned<NeedEntry>>> {
    let items = if field.node.as_sequence().is_some() {
        reader.flattened(field)?
    } else if field.node.as_mapping().is_some() && !field.node.is_blank() {
        vec![field.node]
    } else {
        let help = list_help(field.node);
        reader.refuse_with_help(field, "can only be a hash or an array", help);
        return None;
    };
    let path = field.path.child("need");
    let mut needs = Vec::with_capacity(items.len());
    for node in items {
        // Real files have empty items, which GitLab ignores.
        if node.is_null() {
            let message = format!(
                "{} has an empty entry, which is ignored",
                field.path.subject()
            );
            let note = Diagnostic::note("empty-need", message).at(node.span);
            reader.diagnostics.push(note);
            continue;
        }
        let item = Field { node, path: &path };
        let Some(value) = read_entry(reader, item) else {
            continue;
        };
        if !value.is_allowed_in(place) {
            let kind = value.kind_name();
            let wrong = Field { node, ..field };
            reader.refuse(wrong, format_args!("uses invalid types: {kind}"));
            continue;
        }
        let span = node.span;
        needs.push(Spanned { value, span });
    }
    check_counts(reader, field, &needs);
    Some(needs)
}

/// Reads `needs` of a rule, which may only name jobs of this pipeline.
pub(super) fn read_in_rule(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    place: RulePlace,
) -> Option<Vec<Spanned<NeedEntry>>> {
    let needs = read(reader, field, NeedPlace::Rule)?;
    if needs.is_empty() && place == RulePlace::Job {
        let subject = field.path.subject();
        let message =
            format!("{subject} names no job, so the job keeps its own `needs`, as in GitLab");
        let help = "to start it at once by this rule, give the job `needs: []` and its other rules the needs";
        let warning = Diagnostic::warning("empty-rule-needs", message).at(field.node.span);
        reader.diagnostics.push(warning.with_help(help.to_owned()));
    }
    Some(needs)
}

fn check_counts(reader: &mut Reader<'_>, field: Field<'_>, needs: &[Spanned<NeedEntry>]) {
    let count =
        |is_kind: fn(&NeedEntry) -> bool| needs.iter().filter(|need| is_kind(&need.value)).count();
    let pipelines =
        count(|need| matches!(need, NeedEntry::Cross(cross) if cross.project.is_none()));
    if pipelines > MOST_CROSS_NEEDS {
        let words = format!("must be less than or equal to {MOST_CROSS_NEEDS} for other pipelines");
        reader.refuse(field, words);
    }
    let projects = count(|need| matches!(need, NeedEntry::Cross(cross) if cross.project.is_some()));
    if projects > MOST_CROSS_NEEDS {
        let words = format!("must be less than or equal to {MOST_CROSS_NEEDS} for other projects");
        reader.refuse(field, words);
    }
    if count(|need| matches!(need, NeedEntry::Mirror(_))) > 1 {
        reader.refuse(field, "should contain exactly one `pipeline` to mirror");
    }
}

fn read_entry(reader: &mut Reader<'_>, field: Field<'_>) -> Option<NeedEntry> {
    if field.node.is_blank() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    if field.node.as_str().is_some() {
        let job = read_name(reader, field)?;
        return Some(NeedEntry::Job(JobNeed {
            need: Need::of(job),
            matrix: None,
        }));
    }
    if field.node.as_mapping().is_none() {
        reader.refuse(
            field,
            "has an unsupported type: it should be a string or a hash",
        );
        return None;
    }
    let has = |key: &str| field.node.get(key).is_some_and(|node| !node.is_null());
    if has("project") || has("pipeline") && has("job") {
        return read_cross(reader, field).map(NeedEntry::Cross);
    }
    if has("pipeline") {
        let mut pipeline = None;
        reader.entries(field, &["pipeline"], |reader, _, field| {
            pipeline = reader.string(field);
        });
        return pipeline.map(NeedEntry::Mirror);
    }
    read_job(reader, field).map(NeedEntry::Job)
}

fn read_job(reader: &mut Reader<'_>, field: Field<'_>) -> Option<JobNeed> {
    let (mut job, mut matrix) = (None, None);
    let mut need = Need::of("");
    let known = ["job", "artifacts", "optional", "parallel"];
    reader.attributes(field, &known, |reader, key, field| match key {
        "job" => job = read_name(reader, field),
        "artifacts" => need.artifacts = reader.boolean(field).unwrap_or(true),
        "optional" => need.optional = reader.boolean(field).unwrap_or(false),
        _ => matrix = read_instances(reader, field),
    });
    reader.require(field, &["job"]);
    need.job = job?;
    Some(JobNeed { need, matrix })
}

fn read_name(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let name = reader.string(field)?;
    if name.trim().is_empty() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    if name.chars().count() > LONGEST_NAME {
        let words = format!("is too long (the maximum is {LONGEST_NAME} characters)");
        reader.refuse(field, words);
        return None;
    }
    Some(name)
}

/// Reads the needed instances of a job.
fn read_instances(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Matrix> {
    if field.node.as_mapping().is_none() {
        let words = "cannot be a number here: select instances with `matrix`";
        reader.refuse(field, words);
        return None;
    }
    matrix::read_in_hash(reader, field)
}

fn read_cross(reader: &mut Reader<'_>, field: Field<'_>) -> Option<CrossNeed> {
    let has = |key: &str| field.node.get(key).is_some_and(|node| !node.is_null());
    let (known, required): (&[&str], &[&str]) = if has("project") {
        (&["project", "job", "ref", "artifacts"], &["job", "ref"])
    } else {
        (&["pipeline", "job", "artifacts"], &["job"])
    };
    let mut need = CrossNeed {
        artifacts: Some(true),
        ..CrossNeed::default()
    };
    reader.attributes(field, known, |reader, key, field| match key {
        "project" => need.project = reader.string(field),
        "pipeline" => need.pipeline = reader.string(field),
        "job" => need.job = reader.string(field),
        "ref" => need.ref_name = reader.string(field),
        _ => need.artifacts = reader.boolean(field),
    });
    reader.require(field, required).then_some(need)
}

/// Reads `dependencies`.
pub(super) fn read_dependencies(
    reader: &mut Reader<'_>,
    field: Field<'_>,
) -> Option<Vec<Spanned<String>>> {
    let names = reader.strings(field)?;
    let nodes = field.node.as_sequence().unwrap_or_default();
    let spans = nodes.iter().map(|node: &Arc<Node>| node.span);
    let spanned = names.into_iter().zip(spans);
    Some(
        spanned
            .map(|(value, span)| Spanned { value, span })
            .collect(),
    )
}
