use crate::diagnostic::Diagnostic;

/// How many findings one text is given that leave it readable. Nobody reads more, and a text of
/// 32 MiB could have millions.
const MOST: usize = 200;

/// Adds a warning, unless there are many findings already.
pub(super) fn warn(findings: &mut Vec<Diagnostic>, warning: impl FnOnce() -> Diagnostic) {
    if findings.len() < MOST {
        findings.push(warning());
    }
}

/// Adds an error after which reading goes on; warnings leave room for it.
pub(super) fn refuse(findings: &mut Vec<Diagnostic>, error: impl FnOnce() -> Diagnostic) {
    if findings.len() < 2 * MOST {
        findings.push(error());
    }
}
