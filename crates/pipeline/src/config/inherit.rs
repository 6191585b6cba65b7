use super::inheritable::DEFAULT_KEYS;
use super::reader::{Field, Reader};
use yaml::Kind;

/// The subset of keywords or variables that a job inherits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Inherited {
    /// Everything.
    #[default]
    All,
    /// Nothing.
    Nothing,
    /// Only these.
    Only(Vec<String>),
}

impl Inherited {
    /// Returns whether the job inherits `name`.
    pub fn includes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Only(names) => names.iter().any(|only| only == name),
        }
    }
}

/// `inherit`: what a job takes from `default` and from the global variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inherit {
    /// Which keywords of `default`.
    pub default: Inherited,
    /// Which global variables.
    pub variables: Inherited,
}

/// Reads `inherit`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Inherit {
    let mut inherit = Inherit::default();
    reader.entries(field, &["default", "variables"], |reader, key, field| {
        let inherited = read_inherited(reader, field).unwrap_or_default();
        if key == "variables" {
            inherit.variables = inherited;
            return;
        }
        if let Inherited::Only(names) = &inherited
            && names
                .iter()
                .any(|name| !DEFAULT_KEYS.contains(&name.as_str()))
        {
            let words = format!("may name only: {}", DEFAULT_KEYS.join(", "));
            reader.refuse(field, words);
        }
        inherit.default = inherited;
    });
    inherit
}

fn read_inherited(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Inherited> {
    match field.node.kind {
        Kind::Bool(true) => Some(Inherited::All),
        Kind::Bool(false) => Some(Inherited::Nothing),
        Kind::Sequence(_) => reader.strings(field).map(Inherited::Only),
        _ => {
            reader.refuse(field, "should be a bool or an array of strings");
            None
        }
    }
}
