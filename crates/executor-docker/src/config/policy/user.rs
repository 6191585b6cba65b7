use super::Refusal;
use crate::config::DockerConfig;

/// Returns the user that a container runs as, where settings or job name one; `None` is the image's.
///
/// A job's choice wins over the runner's where `allowed_users` has a say about it. Without that list a
/// runner's `user` is meant for all jobs.
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
/// `user` is the one of [`effective_user`], or else that of the image, where nothing is root. The
/// runner's own `user` is always allowed.
///
/// # Errors
///
/// When there is a list and it does not have the user, or the name is none.
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

/// Returns the one name of the user who has several.
fn canonical(user: &str) -> &str {
    match user {
        "" | "0" | "root" | "0:0" | "root:root" | "root:0" | "0:root" => "root",
        _ => user,
    }
}
