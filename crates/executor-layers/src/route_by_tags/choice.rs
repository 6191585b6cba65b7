//! The choice of a job's route.

use executor_core::PrepareOptions;
use executor_core::variable::expand_with;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The tags of a route or of a job.
pub(super) type Tags = BTreeSet<String>;

/// Returns the index of the route for a job with these tags; route 0 is the default.
///
/// A route matches when it has all tags of the job, as in GitLab. The first match is chosen, the default
/// last. A job without tags takes the default.
pub(super) fn choose<'r>(job: &Tags, routes: impl IntoIterator<Item = &'r Tags>) -> Option<usize> {
    let fitting = |(_, route): &(usize, &Tags)| job.is_subset(route);
    let mut routes = routes.into_iter().enumerate();
    let default = routes.next()?;
    if job.is_empty() {
        return Some(default.0);
    }
    let chosen = routes.find(fitting);
    chosen
        .or(Some(default).filter(fitting))
        .map(|(number, _)| number)
}

/// Returns the tags of the job, with variables expanded.
///
/// GitLab does not expand an unknown variable, so that the tag matches no runner.
pub(super) fn job_tags(options: &PrepareOptions) -> Tags {
    let definition = options.job.definition.as_deref();
    let tags = definition.and_then(|definition| definition.tags.as_deref());
    let value = |name: &str| {
        let value = options.variables.get(name).map(str::to_owned);
        Some(Cow::<str>::Owned(
            value.unwrap_or_else(|| format!("${name}")),
        ))
    };
    let tags = tags.unwrap_or_default().iter();
    tags.map(|tag| expand_with(tag, value).into_owned())
        .collect()
}

/// Returns the tags for display: `[gpu, linux]`.
pub(super) fn shown(tags: &Tags) -> String {
    let tags: Vec<_> = tags.iter().map(String::as_str).collect();
    format!("[{}]", tags.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Tags {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn chooses_the_first_route_with_all_tags() {
        let routes = ["docker linux", "gpu linux", "gpu linux cuda", "mac"].map(tags);
        let check = |job: &str, expect| {
            assert_eq!(choose(&tags(job), &routes), expect, "of {job:?}");
        };
        check("", Some(0));
        check("gpu", Some(1));
        check("linux gpu", Some(1));
        check("cuda", Some(2));
        check("mac", Some(3));
        check("linux", Some(1));
        check("docker", Some(0));
        check("docker gpu", None);
        check("GPU", None);
        assert_eq!(choose(&tags("gpu"), []), None);
    }
}
