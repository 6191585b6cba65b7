//! The names of a type's fields, from its implementation of `Deserialize`.

use serde::Deserializer;
use serde::de::{DeserializeOwned, Error as _, Visitor, value};
use serde::forward_to_deserialize_any;

/// Returns the names of the keys that a struct is read from, as serde knows them; empty for other types.
///
/// ```
/// use runner::config::fields_of;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Board {
///     #[serde(rename = "serial-port")]
///     _serial_port: String,
///     _baud: u32,
/// }
///
/// assert_eq!(fields_of::<Board>(), ["serial-port", "_baud"]);
/// ```
pub fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    // The deserializer has no value, so each type ends with an error.
    let _ = T::deserialize(FieldNames(&mut fields));
    fields
}

/// A deserializer without a value. It stores the field names of the struct that asks for it.
struct FieldNames<'f>(&'f mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(value::Error::custom("only the names are asked for"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(value::Error::custom("not a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(default, rename_all = "PascalCase")]
    #[derive(Default)]
    struct Machine {
        idle_count: u32,
        #[serde(rename = "autoscaling")]
        periods: Vec<String>,
        #[serde(skip)]
        skipped: u32,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only the type is used")]
    struct Wrapper(Option<Machine>);

    #[test]
    fn names_are_those_of_the_file() {
        assert_eq!(fields_of::<Machine>(), ["IdleCount", "autoscaling"]);
        assert_eq!(fields_of::<Wrapper>(), ["IdleCount", "autoscaling"]);
        assert!(fields_of::<Vec<Machine>>().is_empty());
        assert!(fields_of::<u32>().is_empty());
    }
}
