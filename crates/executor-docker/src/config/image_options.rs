use crate::error::DockerError;
use executor_core::job::Image;
use serde_json::Value;

/// A job's container options of an image (`image:docker`, `executor_opts.docker`).
///
/// # Examples
///
/// ```
/// use executor_core::job::Image;
/// use executor_docker::config::ImageOptions;
///
/// let image = Image {
///     docker: Some(serde_json::json!({ "platform": "linux/arm64", "user": 1000 })),
///     ..Image::named("debian:12")
/// };
/// let options = ImageOptions::of(&image)?;
/// assert_eq!(options.user.as_deref(), Some("1000"));
/// # Ok::<(), executor_docker::config::ImageOptionsError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// The platform of the image: `linux/arm64`.
    pub platform: Option<String>,
    /// The user, with or without a group: `1000:1000`.
    pub user: Option<String>,
}

/// An invalid option of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("image:docker{key}: {reason}")]
pub struct ImageOptionsError {
    key: &'static str,
    reason: &'static str,
}

impl ImageOptions {
    /// Reads the options of an image; `executor_opts` from a coordinator override those of a pipeline file.
    ///
    /// # Errors
    ///
    /// When one has a wrong type. Unknown options are ignored.
    pub fn of(image: &Image) -> Result<Self, ImageOptionsError> {
        let mut options = Self::default();
        for value in [&image.docker, &image.executor_opts.docker] {
            let fields = match value {
                None | Some(Value::Null) => continue,
                Some(Value::Object(fields)) => fields,
                Some(_) => {
                    let reason = "is not a mapping";
                    return Err(ImageOptionsError { key: "", reason });
                }
            };
            if let Some(platform) = text(":platform", fields.get("platform"))? {
                options.platform = Some(platform);
            }
            if let Some(user) = text(":user", fields.get("user"))? {
                options.user = Some(user);
            }
        }
        Ok(options)
    }
}

fn text(key: &'static str, value: Option<&Value>) -> Result<Option<String>, ImageOptionsError> {
    let text = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => {
            let reason = "is not a text";
            return Err(ImageOptionsError { key, reason });
        }
    };
    Ok((!text.is_empty()).then_some(text))
}

impl From<ImageOptionsError> for DockerError {
    fn from(error: ImageOptionsError) -> Self {
        Self::config(error.to_string())
    }
}
