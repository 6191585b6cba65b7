use super::Refusal;
use super::image::is_on;
use crate::config::DockerConfig;
use crate::image::ImageReference;

/// The role of a container, for the check of privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrivilegedRole {
    /// The job's container.
    Build,
    /// A service's container.
    Service,
}

/// Checks that a container from this image is privileged.
///
/// # Errors
///
/// When it is not; then it runs unprivileged.
pub fn check_privileged(
    config: &DockerConfig,
    role: PrivilegedRole,
    image: &ImageReference,
) -> Result<(), Refusal> {
    let (on, key, list_key, list) = match role {
        PrivilegedRole::Build => (
            config.privileged,
            "privileged",
            "allowed_privileged_images",
            &config.allowed_privileged_images,
        ),
        PrivilegedRole::Service => (
            config.services_privileged,
            "services_privileged",
            "allowed_privileged_services",
            &config.allowed_privileged_services,
        ),
    };
    let name = image.familiar();
    if !on {
        let because = format!("the runner's {} is not set", config.key_style.key(key));
        return Err(Refusal::because("privileged image", &name, because));
    }
    if list.is_empty() || is_on(list, image) {
        return Ok(());
    }
    let key = config.key_style.key(list_key);
    Err(Refusal::not_on("privileged image", &name, &key, list))
}
