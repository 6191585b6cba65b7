use super::reader::{Field, Reader};

/// Reads `identity`: the cloud as whose user the job acts.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let known = [("google_cloud", "google_cloud")];
    reader.one_of(field, &known).map(ToOwned::to_owned)
}
