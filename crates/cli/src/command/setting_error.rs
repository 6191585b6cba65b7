//! Errors of settings that are read and make no sense.

use crate::failure::Failure;
use anyhow::anyhow;
use workstation::Settings;

/// The section, the name or number of one of several, and the key.
pub(super) type Setting<'s> = (&'s str, Option<&'s str>, &'s str);

/// Returns the error of a setting, with its place or, if it is missing, that of another one in its table.
pub(super) fn refuse(settings: &Settings, at: Setting<'_>, why: &str) -> Failure {
    let (section, of, key) = at;
    let table: Vec<_> = settings
        .effective()
        .into_iter()
        .filter(|it| it.section.name == section && it.of.as_deref() == of)
        .collect();
    let own = table.iter().find(|it| it.key.name == key);
    let place = own
        .or(table.first())
        .and_then(|it| it.origin.place())
        .map_or_else(String::new, |place| {
            format!("{}:{}:{}: ", place.file.display(), place.line, place.column)
        });
    Failure::usage(anyhow!("{place}{why}"))
}
