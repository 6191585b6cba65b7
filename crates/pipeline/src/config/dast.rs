use super::reader::{Field, Reader};

/// Checks `dast_configuration`: the profiles that GitLab's template for DAST reads.
pub(super) fn check(reader: &mut Reader<'_>, field: Field<'_>) {
    let known = ["site_profile", "scanner_profile"];
    reader.attributes(field, &known, |reader, _, field| {
        reader.string(field);
    });
}
