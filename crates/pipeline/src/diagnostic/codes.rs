/// What a code of a [`Diagnostic`](super::Diagnostic) stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code, for example `unknown-keyword`.
    pub code: &'static str,
    /// What it means, in one sentence without a final dot.
    pub meaning: &'static str,
}

/// All codes, in alphabetical order. A code that is given anywhere has a line here, and one in the
/// guide.
pub const CODES: &[CodeInfo] = &[];

/// Returns what a code stands for.
pub fn code_info(code: &str) -> Option<&'static CodeInfo> {
    let found = CODES.binary_search_by(|info| info.code.cmp(code));
    found.ok().map(|at| &CODES[at])
}
