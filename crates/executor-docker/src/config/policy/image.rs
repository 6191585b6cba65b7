use super::{Pattern, Refusal};
use crate::config::DockerConfig;
use crate::image::{ImageReference, PullPolicy};

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

/// Returns the pull policies of an image in order: those of the job, else the runner's, else `always`.
///
/// # Errors
///
/// When the job requests one that is invalid or not in `allowed_pull_policies`, by default `pull_policy`.
pub fn pull_policies(config: &DockerConfig, asked: &[String]) -> Result<Vec<PullPolicy>, Refusal> {
    let configured = match config.pull_policy.as_slice() {
        [] => vec![PullPolicy::default()],
        policies => policies.to_vec(),
    };
    if asked.is_empty() {
        return Ok(configured);
    }
    let (key, allowed) = match config.allowed_pull_policies.as_slice() {
        [] => ("pull_policy", configured.as_slice()),
        allowed => ("allowed_pull_policies", allowed),
    };
    let checked = asked.iter().map(|word| {
        let policy: PullPolicy = word
            .parse()
            .map_err(|error: String| Refusal::because("pull policy", word, error))?;
        if allowed.contains(&policy) {
            return Ok(policy);
        }
        let list: Vec<_> = allowed.iter().map(ToString::to_string).collect();
        let key = config.key_style.key(key);
        Err(Refusal::not_on("pull policy", word, &key, &list))
    });
    checked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeyStyle;
    use PullPolicy::{Always, IfNotPresent, Never};

    fn check(
        configured: &[PullPolicy],
        allowed: &[PullPolicy],
        asked: &[&str],
        expect: Result<&[PullPolicy], &str>,
    ) {
        let config = DockerConfig {
            pull_policy: configured.to_vec(),
            allowed_pull_policies: allowed.to_vec(),
            ..DockerConfig::default()
        };
        let words: Vec<_> = asked.iter().map(|&word| word.to_owned()).collect();
        match (pull_policies(&config, &words), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{asked:?}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{asked:?} gave {found:?}"),
        }
    }

    #[test]
    fn a_job_gets_allowed_pull_policies() {
        check(&[], &[], &[], Ok(&[Always]));
        check(&[IfNotPresent, Never], &[], &[], Ok(&[IfNotPresent, Never]));
        check(&[Always, Never], &[], &["never"], Ok(&[Never]));
        check(
            &[],
            &[Always, Never],
            &["never", "always"],
            Ok(&[Never, Always]),
        );
        check(&[], &[], &["never"], Err("pull_policy has only always"));
        check(
            &[Never],
            &[Always],
            &["never"],
            Err("allowed_pull_policies"),
        );
        check(&[], &[], &["sometimes"], Err("if-not-present"));
    }

    #[test]
    fn a_list_is_named_in_its_key_style() {
        let config = DockerConfig {
            key_style: KeyStyle::Hyphens,
            allowed_pull_policies: vec![Always],
            ..DockerConfig::default()
        };
        let refused = pull_policies(&config, &["never".to_owned()]).unwrap_err();
        let expect = "pull policy `never` is not allowed: the runner's allowed-pull-policies has only always";
        assert_eq!(refused.to_string(), expect);
    }
}
