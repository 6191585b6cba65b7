use super::{ContainerPlan, read_seccomp};
use crate::config::policy::{self, PrivilegedRole, check_privileged, check_user};
use crate::config::{DockerConfig, ImageOptions};
use crate::error::DockerError;
use crate::image::ImageInfo;

/// The options of a job's container that the settings allow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedOptions {
    /// The user; `None` is the image's.
    pub user: Option<String>,
    /// Whether it is privileged.
    pub privileged: bool,
    /// The text of the seccomp profile.
    pub seccomp: Option<String>,
}

impl AllowedOptions {
    /// Checks the options of a job's container from this image.
    ///
    /// # Errors
    ///
    /// When the user is not allowed, or the seccomp profile cannot be read.
    pub fn of_build(
        config: &DockerConfig,
        image: &ImageInfo,
        options: &ImageOptions,
    ) -> Result<Self, DockerError> {
        let user = policy::effective_user(config, options.user.as_deref());
        check_user(config, user.unwrap_or(&image.user)).map_err(error)?;
        Ok(Self {
            user: user.map(str::to_owned),
            privileged: check_privileged(config, PrivilegedRole::Build, &image.reference).is_ok(),
            seccomp: read_seccomp(&config.security_opt).map_err(error)?,
        })
    }

    /// Returns the plan with these options.
    pub fn apply(self, plan: ContainerPlan) -> ContainerPlan {
        ContainerPlan {
            user: self.user,
            privileged: self.privileged,
            seccomp: self.seccomp,
            ..plan
        }
    }
}

fn error(error: impl std::fmt::Display) -> DockerError {
    DockerError::config(error.to_string())
}
