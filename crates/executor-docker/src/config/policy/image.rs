use super::{Pattern, Refusal};
use crate::config::DockerConfig;
use crate::image::ImageReference;

/// Checks that a job may use this image: `allowed_images`.
///
/// The runner's own image is always allowed.
///
/// # Errors
///
/// When there is a list without the image.
pub fn check_image(config: &DockerConfig, image: &ImageReference) -> Result<(), Refusal> {
    let own = config.image.iter().map(String::as_str);
    let key = config.key_style.key("allowed_images");
    check("image", &key, &config.allowed_images, own, image)
}

/// Checks that a job may have a service from this image: `allowed_services`.
///
/// The runner's own services are always allowed.
///
/// # Errors
///
/// When there is a list without the image.
pub fn check_service(config: &DockerConfig, image: &ImageReference) -> Result<(), Refusal> {
    let own = config.services.iter().map(|it| it.name.as_str());
    let list = &config.allowed_services;
    let key = config.key_style.key("allowed_services");
    check("service", &key, list, own, image)
}

fn check<'c>(
    what: &'static str,
    key: &str,
    list: &[String],
    mut own: impl Iterator<Item = &'c str>,
    image: &ImageReference,
) -> Result<(), Refusal> {
    let same = |own: &str| ImageReference::parse(own).is_ok_and(|own| own == *image);
    if list.is_empty() || own.any(same) || is_on(list, image) {
        return Ok(());
    }
    Err(Refusal::not_on(what, &image.familiar(), key, list))
}

/// Returns whether a pattern of `list` matches one of the image's names. Ignores invalid patterns.
pub(crate) fn is_on<S: AsRef<str>>(list: &[S], image: &ImageReference) -> bool {
    let names = names(image);
    let mut patterns = list
        .iter()
        .filter_map(|it| Pattern::parse(it.as_ref()).ok());
    patterns.any(|pattern| names.iter().any(|name| pattern.matches(name)))
}

/// Returns all names of an image, short and full, with and without the default tag. A list may use any of them.
fn names(image: &ImageReference) -> Vec<String> {
    let full = image.normalized();
    let mut names = vec![image.familiar(), full.clone()];
    if let Some(rest) = full.strip_prefix("docker.io/") {
        names.push(rest.to_owned());
        names.extend(rest.strip_prefix("library/").map(str::to_owned));
    }
    let short: Vec<String> = names
        .iter()
        .filter_map(|name| name.strip_suffix(":latest").map(str::to_owned))
        .collect();
    names.extend(short);
    // A path that looks like a registry names another image.
    names.retain(|name| ImageReference::parse(name).is_ok_and(|it| it == *image));
    names
}
