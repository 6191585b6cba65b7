use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use toml_edit::{Item, TableLike, Value};

/// Returns a number that differs when a key of the table has another value.
pub(crate) fn fingerprint(table: &dyn TableLike) -> u64 {
    let mut hasher = DefaultHasher::new();
    of_table(table, &mut hasher);
    hasher.finish()
}

fn of_table(table: &dyn TableLike, hasher: &mut DefaultHasher) {
    for (key, item) in table.iter() {
        key.hash(hasher);
        match item {
            Item::None => {}
            Item::Value(value) => of_value(value, hasher),
            Item::Table(table) => of_table(table, hasher),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|it| of_table(it, hasher)),
        }
    }
}

fn of_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::String(text) => text.value().hash(hasher),
        Value::Integer(number) => number.value().hash(hasher),
        Value::Float(number) => number.value().to_bits().hash(hasher),
        Value::Boolean(flag) => flag.value().hash(hasher),
        Value::Datetime(time) => time.value().to_string().hash(hasher),
        Value::Array(values) => values.iter().for_each(|it| of_value(it, hasher)),
        Value::InlineTable(table) => of_table(table, hasher),
    }
}
