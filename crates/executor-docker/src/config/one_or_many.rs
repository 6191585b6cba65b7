use serde::Deserializer;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, Error, IntoDeserializer, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Deserializes a list, or a single entry.
pub(super) fn one_or_many<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: DeserializeOwned> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
            let one: StrDeserializer<'_, E> = text.into_deserializer();
            Ok(vec![T::deserialize(one)?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(entry) = entries.next_element()? {
                all.push(entry);
            }
            Ok(all)
        }
    }

    input.deserialize_any(OneOrMany(PhantomData))
}
