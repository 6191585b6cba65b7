use super::{Cleaning, Fate, Removable, RemovableKind};
use crate::error::LocalError;
use crate::remote::user_library::UserLibrary;
use jiff::Timestamp;
use step_library::{CachedFunctions, FunctionCache};

/// All projects share what is there, so it is of none.
pub(super) fn clean(cleaning: &Cleaning<'_>) -> Result<Vec<Removable>, LocalError> {
    let cache = UserLibrary::cache(cleaning.state);
    let mut found = Vec::new();
    for functions in cache.entries().map_err(LocalError::Functions)? {
        let used = Timestamp::try_from(functions.used).unwrap_or(Timestamp::MIN);
        if cleaning.is_old_enough(used) {
            found.push(Removable {
                kind: RemovableKind::Functions,
                fate: fate(cleaning, &cache, &functions),
                name: functions.name,
                project: None,
                bytes: functions.bytes,
            });
        }
    }
    Ok(found)
}

fn fate(cleaning: &Cleaning<'_>, cache: &FunctionCache, functions: &CachedFunctions) -> Fate {
    if cleaning.dry_run {
        return Fate::Seen;
    }
    match cache.remove(functions) {
        Ok(true) => Fate::Removed,
        Ok(false) => Fate::InUse,
        Err(error) => Fate::Stays(error.message),
    }
}
