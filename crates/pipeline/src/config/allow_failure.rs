use super::reader::{Field, Reader, quotes_help};
use yaml::Kind;

/// Whether a failed job lets the pipeline pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowFailure {
    /// Always or never.
    Flag(bool),
    /// Only after one of these exit codes.
    ExitCodes(Vec<i32>),
}

/// Reads `allow_failure`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<AllowFailure> {
    match field.node.kind {
        Kind::Bool(flag) => Some(AllowFailure::Flag(flag)),
        Kind::Mapping(_) => {
            let mut exit_codes = None;
            reader.entries(field, &["exit_codes"], |reader, _, field| {
                exit_codes = reader.integers(field);
            });
            exit_codes.map(AllowFailure::ExitCodes)
        }
        _ => {
            let words = "should be a hash or a boolean value";
            reader.refuse_with_help(field, words, quotes_help(field.node));
            None
        }
    }
}
