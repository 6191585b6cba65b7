use super::reader::{Field, Reader};
use executor_core::job::{ArtifactWhen, When};

/// Reads `when` of a job.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<When> {
    let words = [
        ("on_success", When::OnSuccess),
        ("on_failure", When::OnFailure),
        ("always", When::Always),
        ("manual", When::Manual),
        ("delayed", When::Delayed),
    ];
    refuse_never(reader, field)?;
    reader.one_of(field, &words)
}

/// Refuses `never`, which only rules may have; returns nothing in that case.
fn refuse_never(reader: &mut Reader<'_>, field: Field<'_>) -> Option<()> {
    if field.node.as_str() != Some("never") {
        return Some(());
    }
    let words = "should be one of: on_success, on_failure, always, manual, delayed";
    let help = "`never` belongs to an entry of `rules:`".to_owned();
    reader.refuse_with_help(field, words, Some(help));
    None
}

/// Reads `when` of artifacts or of a cache.
pub(super) fn read_upload(reader: &mut Reader<'_>, field: Field<'_>) -> Option<ArtifactWhen> {
    let words = [
        ("on_success", ArtifactWhen::OnSuccess),
        ("on_failure", ArtifactWhen::OnFailure),
        ("always", ArtifactWhen::Always),
    ];
    reader.one_of(field, &words)
}

/// Reads `when` of a trigger job, which cannot be delayed.
pub(super) fn read_of_trigger(reader: &mut Reader<'_>, field: Field<'_>) -> Option<When> {
    let words = [
        ("on_success", When::OnSuccess),
        ("on_failure", When::OnFailure),
        ("always", When::Always),
        ("manual", When::Manual),
    ];
    reader.one_of(field, &words)
}
