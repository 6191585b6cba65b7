use super::reader::{Field, Reader};
use crate::rules::{AutoCancel, OnJobFailure, OnNewCommit};

const ON_NEW_COMMIT: [(&str, OnNewCommit); 3] = [
    ("conservative", OnNewCommit::Conservative),
    ("interruptible", OnNewCommit::Interruptible),
    ("none", OnNewCommit::None),
];
const ON_JOB_FAILURE: [(&str, OnJobFailure); 2] =
    [("none", OnJobFailure::None), ("all", OnJobFailure::All)];

/// Reads `auto_cancel` of the workflow or of one of its rules.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<AutoCancel> {
    reader.mapping(field)?;
    let mut auto_cancel = AutoCancel::default();
    let known = ["on_new_commit", "on_job_failure"];
    reader.attributes(field, &known, |reader, key, field| match key {
        "on_new_commit" => auto_cancel.on_new_commit = reader.one_of(field, &ON_NEW_COMMIT),
        _ => auto_cancel.on_job_failure = reader.one_of(field, &ON_JOB_FAILURE),
    });
    Some(auto_cancel)
}
