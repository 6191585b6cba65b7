use super::error::ImageError;
use crate::files::path_of;
use semver::Version;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Paths in the image, with their sources below the working directory.
pub(super) type Files = BTreeMap<PathBuf, PathBuf>;

/// The description of an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(super) version: String,
    /// The files for all platforms.
    pub(super) common: Files,
    pub(super) platforms: BTreeMap<Platform, Files>,
}

/// A platform of an image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Platform {
    pub(super) os: String,
    pub(super) architecture: String,
    pub(super) variant: Option<String>,
}

impl Image {
    /// Reads the inputs of `builtin://function/oci/build`.
    ///
    /// # Errors
    ///
    /// Names the invalid input, and what was expected.
    pub(crate) fn read(
        version: &str,
        common: &Value,
        platforms: &Value,
    ) -> Result<Self, ImageError> {
        let common = files("common", common)?;
        let mut read = BTreeMap::new();
        for (name, value) in platforms.as_object().into_iter().flatten() {
            let input = format!("platforms.{name}");
            let platform = Platform::parse(name).ok_or_else(|| {
                ImageError::input(
                    &input,
                    "expected a platform OS/ARCHITECTURE, such as linux/amd64",
                )
            })?;
            let own = files(&input, value)?;
            if own.is_empty() && common.is_empty() {
                return Err(ImageError::input(input, "the platform has no files"));
            }
            if read.insert(platform, own).is_some() {
                return Err(ImageError::input(input, "the platform is repeated"));
            }
        }
        if read.is_empty() {
            let why = "expected at least one platform OS/ARCHITECTURE with its `files`";
            return Err(ImageError::input("platforms", why));
        }
        Ok(Self {
            version: checked(version.trim())?,
            common,
            platforms: read,
        })
    }
}

/// Checks that a version can be a tag.
fn checked(version: &str) -> Result<String, ImageError> {
    let wrong = |why: &str| Err(ImageError::input("version", why));
    match Version::parse(version) {
        Err(_) => wrong("expected a semantic version such as 1.2.3 or 1.2.3-rc1"),
        Ok(parsed) if !parsed.build.is_empty() => {
            wrong("it has build metadata, `+`, which a tag of an image cannot have")
        }
        Ok(_) if version.len() > 128 => wrong("it is longer than 128 bytes"),
        Ok(_) => Ok(version.to_owned()),
    }
}

/// Reads `{files: ..}`: a map from paths in the image to sources, or a list of paths that are both.
fn files(input: &str, value: &Value) -> Result<Files, ImageError> {
    let wrong = |why: String| ImageError::input(input, why);
    let Some(fields) = value.as_object() else {
        return Err(wrong("expected a mapping with `files`".to_owned()));
    };
    if let Some(unknown) = fields.keys().find(|key| *key != "files") {
        return Err(wrong(format!("expected only `files`, found `{unknown}`")));
    }
    let pairs: Vec<(&str, Option<&str>)> = match fields.get("files") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(map)) => {
            let pairs = map.iter();
            pairs
                .map(|(to, from)| (to.as_str(), from.as_str()))
                .collect()
        }
        Some(Value::Array(list)) => {
            let paths = list.iter().map(|it| it.as_str());
            paths.map(|path| (path.unwrap_or_default(), path)).collect()
        }
        Some(_) => {
            let why =
                "expected `files` to map paths in the image to paths in the working directory";
            return Err(wrong(why.to_owned()));
        }
    };
    let mut files = Files::new();
    for (to, from) in pairs {
        let from = from.ok_or_else(|| wrong(format!("the source of `{to}` is not a string")))?;
        let path = |text: &str| {
            let path = path_of(text.trim().as_bytes());
            path.map_err(|why| wrong(format!("the path {text:?} {why}")))
        };
        if files.insert(path(to)?, path(from)?).is_some() {
            return Err(wrong(format!("`{to}` is repeated")));
        }
    }
    Ok(files)
}

impl Platform {
    fn parse(text: &str) -> Option<Self> {
        let is_word = |word: &str| {
            !word.is_empty()
                && word.len() <= 64
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        let parts: Vec<&str> = text.trim().split('/').collect();
        if !parts.iter().all(|part| is_word(part)) {
            return None;
        }
        let (os, architecture, variant) = match *parts {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some(variant.to_owned())),
            _ => return None,
        };
        Some(Self {
            os: os.to_owned(),
            architecture: architecture.to_owned(),
            variant,
        })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_may_be_a_map_or_a_list() {
        let common = json!({"files": ["func.yml", "./lib/"]});
        let platforms = json!({"linux/arm64/v8": {"files": {"bin/tool": "target/arm64/tool"}}});
        let image = Image::read("1.2.3-rc1", &common, &platforms).unwrap();
        let shown = format!("{:?}", image.common);
        assert_eq!(shown, r#"{"func.yml": "func.yml", "lib": "lib"}"#);
        let (platform, files) = image.platforms.first_key_value().unwrap();
        assert_eq!(platform.to_string(), "linux/arm64/v8");
        let shown = format!("{files:?}");
        assert_eq!(shown, r#"{"bin/tool": "target/arm64/tool"}"#);
    }

    #[test]
    fn errors_are_reported() {
        let platform = json!({"linux/amd64": {}});
        let check = |version: &str, common: Value, platforms: &Value, expect: &str| {
            let error = Image::read(version, &common, platforms).unwrap_err();
            assert_eq!(error.to_string(), expect);
        };
        let common = || json!({"files": {"func.yml": "func.yml"}});
        let version = "input \"version\": expected a semantic version such as 1.2.3 or 1.2.3-rc1";
        check("1.2", common(), &platform, version);
        check("v1.2.3", common(), &platform, version);
        check(
            "1.2.3+4",
            common(),
            &platform,
            "input \"version\": it has build metadata, `+`, which a tag of an image cannot have",
        );
        check(
            "1.2.3",
            json!({}),
            &platform,
            "input \"platforms.linux/amd64\": the platform has no files",
        );
        check(
            "1.2.3",
            common(),
            &json!({}),
            "input \"platforms\": expected at least one platform OS/ARCHITECTURE with its `files`",
        );
        check(
            "1.2.3",
            common(),
            &json!({"linux": {}}),
            "input \"platforms.linux\": expected a platform OS/ARCHITECTURE, such as linux/amd64",
        );
        check(
            "1.2.3",
            json!({"file": []}),
            &platform,
            "input \"common\": expected only `files`, found `file`",
        );
        check(
            "1.2.3",
            json!({"files": {"a": "../a"}}),
            &platform,
            "input \"common\": the path \"../a\" leads out of the directory",
        );
        check(
            "1.2.3",
            json!({"files": {"a": 1}}),
            &platform,
            "input \"common\": the source of `a` is not a string",
        );
    }
}
