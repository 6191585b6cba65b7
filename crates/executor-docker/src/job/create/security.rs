use crate::config::DockerConfig;

/// Says what is wrong with a security option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read seccomp profile {path}: {reason}")]
pub struct SecurityError {
    path: String,
    reason: String,
}

/// The longest profile that is read; docker's own has 13 KiB.
const LONGEST_PROFILE: u64 = 1 << 20;

/// Returns the file that one of the options names as the profile of seccomp.
fn seccomp_file(options: &[String]) -> Option<&str> {
    let mut values = options.iter().rev().filter_map(|it| {
        it.strip_prefix("seccomp")
            .and_then(|it| it.strip_prefix(['=', ':']))
    });
    values.find(|it| !matches!(*it, "unconfined" | "builtin") && !it.starts_with('{'))
}

/// Reads the profile of seccomp that one of the options names: the engine is told its text.
///
/// # Errors
///
/// When the file cannot be read, is too long, or is no JSON.
pub fn read_seccomp(options: &[String]) -> Result<Option<String>, SecurityError> {
    let Some(path) = seccomp_file(options) else {
        return Ok(None);
    };
    let wrong = |reason: String| SecurityError {
        path: path.to_owned(),
        reason,
    };
    let length = std::fs::metadata(path)
        .map_err(|it| wrong(it.to_string()))?
        .len();
    if length > LONGEST_PROFILE {
        return Err(wrong("it is too long".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|it| wrong(it.to_string()))?;
    let profile: serde_json::Value =
        serde_json::from_str(&text).map_err(|it| wrong(it.to_string()))?;
    Ok(Some(profile.to_string()))
}

/// Returns the options in the engine's words.
pub(super) fn options(
    config: &DockerConfig,
    own: &[String],
    seccomp: Option<&str>,
    privileged: bool,
) -> Vec<String> {
    let file = seccomp_file(own);
    let mut options: Vec<String> = own
        .iter()
        .map(|option| match (file, seccomp) {
            (Some(file), Some(text)) if option.ends_with(file) && option.starts_with("seccomp") => {
                format!("seccomp={text}")
            }
            _ => option.clone(),
        })
        .collect();
    let written = own.iter().any(|it| it.starts_with("no-new-privileges"));
    if !written && config.no_new_privileges.unwrap_or(!privileged) {
        options.push("no-new-privileges=true".to_owned());
    }
    options
}

/// Returns the capabilities that are taken away from a job.
pub(super) fn cap_drop(config: &DockerConfig) -> Vec<String> {
    let all = |it: &String| it.eq_ignore_ascii_case("ALL");
    match &config.cap_drop {
        Some(names) => names.clone(),
        // Whoever asks for all of them means all.
        None if config.cap_add.iter().any(all) => Vec::new(),
        None => DockerConfig::DEFAULT_CAP_DROP.map(str::to_owned).to_vec(),
    }
}
