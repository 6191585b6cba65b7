use super::reader::{Field, Reader};
use super::variables::is_matrix_value;
use crate::yaml::Kind;

/// How many jobs one may become.
const MOST_JOBS: usize = 200;
/// The same, as `parallel` counts.
const MOST_COUNT: u32 = 200;

/// `parallel`: how one job becomes several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parallel {
    /// So many equal ones.
    Count(u32),
    /// One for each combination of values.
    Matrix(Matrix),
}

/// The combinations of `parallel:matrix`, each as names and values in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The combinations.
    pub combinations: Vec<Vec<(String, String)>>,
}

/// Reads `parallel`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Parallel> {
    match field.node.kind {
        Kind::Int(count) => {
            let count = u32::try_from(count).ok();
            let count = count.filter(|count| (1..=MOST_COUNT).contains(count));
            if count.is_none() {
                reader.refuse(field, format_args!("must be between 1 and {MOST_COUNT}"));
            }
            count.map(Parallel::Count)
        }
        Kind::Mapping(_) => {
            let mut matrix = None;
            reader.entries(field, &["matrix"], |reader, _, field| {
                matrix = read_matrix(reader, field);
            });
            if field.node.get("matrix").is_none() {
                reader.refuse(field, "needs `matrix`");
            }
            matrix.map(Parallel::Matrix)
        }
        _ => {
            reader.refuse(field, "should be an integer or a hash");
            None
        }
    }
}

fn read_matrix(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Matrix> {
    let Some(items) = field.node.as_sequence() else {
        reader.refuse(field, "should be an array of hashes");
        return None;
    };
    let path = field.path.child("variables");
    let mut matrix = Matrix::default();
    for node in items {
        let entry = Field { node, path: &path };
        let combinations = read_combinations(reader, entry)?;
        matrix.combinations.extend(combinations);
        if matrix.combinations.len() > MOST_JOBS {
            reader.refuse(field, format_args!("makes more than {MOST_JOBS} jobs"));
            return None;
        }
    }
    Some(matrix)
}

/// Returns every combination of the values of one entry; the last name varies fastest.
fn read_combinations(
    reader: &mut Reader<'_>,
    field: Field<'_>,
) -> Option<Vec<Vec<(String, String)>>> {
    let entries = reader.mapping(field)?;
    if entries.is_empty() {
        reader.refuse(field, "requires at least one item");
        return None;
    }
    let mut combinations = vec![Vec::new()];
    for (name, entry) in entries {
        let values = match entry.value.as_sequence() {
            Some(items) => items.iter().map(AsRef::as_ref).collect(),
            None => vec![entry.value.as_ref()],
        };
        if values.iter().any(|value| !is_matrix_value(&value.kind)) {
            reader.refuse(field, "should be a hash of strings or integers");
            return None;
        }
        if combinations.len().saturating_mul(values.len()) > MOST_JOBS {
            reader.refuse(field, format_args!("makes more than {MOST_JOBS} jobs"));
            return None;
        }
        let mut next = Vec::with_capacity(combinations.len() * values.len());
        for combination in &combinations {
            for value in &values {
                let mut longer: Vec<(String, String)> = combination.clone();
                longer.push((name.to_string(), value.to_scalar_text().unwrap_or_default()));
                next.push(longer);
            }
        }
        combinations = next;
    }
    Some(combinations)
}
