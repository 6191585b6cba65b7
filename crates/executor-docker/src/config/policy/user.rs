use super::Refusal;
use crate::config::DockerConfig;

/// Returns the user of a container from settings or job; `None` is the image's.
///
/// With `allowed_users`, the job's choice overrides the runner's `user`. Without it, the runner's applies to all jobs.
pub fn effective_user<'u>(config: &'u DockerConfig, job: Option<&'u str>) -> Option<&'u str> {
    let set = |it: &&str| !it.is_empty();
    let own = config.user.as_deref().filter(set);
    let job = job.filter(set);
    if config.allowed_users.is_empty() {
        own.or(job)
    } else {
        job.or(own)
    }
}

/// Checks that a job may run as this user: `allowed_users`.
///
/// `user` is that of [`effective_user`], or else that of the image, where an empty one is root. The runner's own `user`
/// is always allowed.
///
/// # Errors
///
/// When there is a list without the user, or the name is invalid.
pub fn check_user(config: &DockerConfig, user: &str) -> Result<(), Refusal> {
    let known = |it: char| it.is_alphanumeric() || "_.-:@$".contains(it);
    if !user.chars().all(known) {
        let because = "it is not the name or number of a user, with or without a group";
        return Err(Refusal::because("user", user, because));
    }
    let list = &config.allowed_users;
    let same = |it: &str| canonical(it) == canonical(user);
    if list.is_empty() || config.user.as_deref().is_some_and(same) || list.iter().any(|it| same(it))
    {
        return Ok(());
    }
    let shown = if user.is_empty() { "root" } else { user };
    let key = config.key_style.key("allowed_users");
    Err(Refusal::not_on("user", shown, &key, list))
}

/// Returns the canonical name of root, or else the name.
fn canonical(user: &str) -> &str {
    match user {
        "" | "0" | "root" | "0:0" | "root:root" | "root:0" | "0:root" => "root",
        _ => user,
    }
}
