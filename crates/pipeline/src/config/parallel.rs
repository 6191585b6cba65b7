use super::matrix::{self, MOST_JOBS};
use super::need::Matrix;
use super::reader::{Field, Reader, quotes_help};
use yaml::Kind;

/// `parallel`: how one job expands to several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parallel {
    /// This many equal ones.
    Count(u32),
    /// One for each combination of values.
    Matrix(Matrix),
}

/// Reads `parallel` of a job with a script.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Parallel> {
    match field.node.kind {
        Kind::Int(count) => {
            let count = usize::try_from(count.value()).ok();
            let count = count.filter(|count| (1..=MOST_JOBS).contains(count));
            if count.is_none() {
                reader.refuse(field, format_args!("must be between 1 and {MOST_JOBS}"));
            }
            let count = count.and_then(|count| u32::try_from(count).ok());
            count.map(Parallel::Count)
        }
        Kind::Float(_) => {
            reader.refuse(field, "must be an integer");
            None
        }
        Kind::Mapping(_) => matrix::read_in_hash(reader, field).map(Parallel::Matrix),
        _ => {
            let help = quotes_help(field.node);
            reader.refuse_with_help(field, "should be an integer or a hash", help);
            None
        }
    }
}

/// Reads `parallel` of a trigger job, which cannot be a number.
pub(super) fn read_of_trigger(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Parallel> {
    match field.node.kind {
        Kind::Mapping(_) => read(reader, field),
        Kind::Int(_) | Kind::Float(_) => {
            reader.refuse(field, "cannot be a number in a trigger job; `matrix` can");
            None
        }
        _ => {
            reader.refuse(field, "should be a hash");
            None
        }
    }
}
