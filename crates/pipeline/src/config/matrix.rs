use super::need::Matrix;
use super::reader::{Field, Reader};
use super::variables::is_matrix_value;

/// The maximum number of jobs that one job may expand to.
pub(super) const MOST_JOBS: usize = 200;

/// Reads a mapping whose only key is `matrix`.
pub(super) fn read_in_hash(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Matrix> {
    let mut matrix = None;
    reader.entries(field, &["matrix"], |reader, _, field| {
        matrix = read(reader, field);
    });
    if field.node.as_mapping().is_some() {
        reader.require(field, &["matrix"]);
    }
    matrix
}

/// Reads `matrix`.
fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Matrix> {
    let Some(items) = field.node.as_sequence() else {
        reader.refuse(field, "should be an array of hashes");
        return None;
    };
    let path = field.path.child("variables");
    let mut matrix = Some(Matrix::default());
    let mut count = 0_usize;
    for node in items {
        if node.as_mapping().is_none() {
            let wrong = Field { node, ..field };
            reader.refuse(wrong, "should be an array of hashes");
            matrix = None;
            continue;
        }
        let entry = Field { node, path: &path };
        let Some(values) = read_values(reader, entry) else {
            matrix = None;
            continue;
        };
        let product = values.iter().fold(1_usize, |product, (_, values)| {
            product.saturating_mul(values.len())
        });
        count = count.saturating_add(product);
        if count <= MOST_JOBS
            && let Some(matrix) = &mut matrix
        {
            matrix.combinations.extend(combinations(&values));
        }
    }
    if count > MOST_JOBS {
        let words = format!("generates too many jobs (maximum is {MOST_JOBS}), here {count}");
        reader.refuse(field, words);
        return None;
    }
    matrix
}

/// Reads the names and values of one entry.
fn read_values(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<(String, Vec<String>)>> {
    let entries = reader.mapping(field)?;
    if entries.is_empty() {
        reader.refuse(field, "requires at least 1 item");
        return None;
    }
    let mut all = Some(Vec::with_capacity(entries.len()));
    for (name, entry) in entries {
        let values = match entry.value.as_sequence() {
            Some(items) => items.iter().map(AsRef::as_ref).collect(),
            None => vec![entry.value.as_ref()],
        };
        if let Some(node) = values.iter().find(|value| !is_matrix_value(&value.kind)) {
            let wrong = Field { node, ..field };
            let words = "should be a hash of key value pairs: a value is a string or an integer";
            reader.refuse(wrong, words);
            all = None;
            continue;
        }
        let texts = values.iter().filter_map(|value| value.to_scalar_text());
        if let Some(all) = &mut all {
            all.push((name.to_string(), texts.collect()));
        }
    }
    all
}

/// Returns every combination of the values of one entry; the last name varies fastest.
fn combinations(values: &[(String, Vec<String>)]) -> Vec<Vec<(String, String)>> {
    let mut combinations = vec![Vec::new()];
    // An empty list makes the product empty; return early so that no intermediate product grows.
    if values.iter().any(|(_, values)| values.is_empty()) {
        return Vec::new();
    }
    for (name, values) in values {
        let longer = |combination: &Vec<(String, String)>| {
            let combination = combination.clone();
            values.iter().map(move |value| {
                let mut longer = combination.clone();
                longer.push((name.clone(), value.clone()));
                longer
            })
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    combinations
}
