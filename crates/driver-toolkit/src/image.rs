//! Which image a job runs on, and how many jobs share one pull of it.

use crate::context::JobContext;
use crate::failure::Failure;
use crate::lock::FileLock;
use crate::name::resource_name;
use crate::stop::Stage;
use crate::store::Store;
use crate::wait::{NotReady, Wait};
use std::time::Duration;

/// Chooses the image of a job.
#[derive(Debug, Clone, Default)]
pub struct ImagePolicy {
    /// The name of a variable of the job that names an image for jobs without `image`.
    pub variable: String,
    /// The image of jobs that name none.
    pub default: Option<String>,
    /// Patterns of the images a job may use; without any, it may use each. `*` stands for any characters but `/`, `**` for
    /// any characters, and `?` for one.
    pub allowed: Vec<String>,
}

impl ImagePolicy {
    /// Returns the image: `image` of the job, else its variable, else the default.
    ///
    /// # Errors
    ///
    /// When there is none, or it is not allowed. The default is allowed always.
    pub fn resolve(&self, job: &JobContext) -> Result<String, Failure> {
        let Some(image) = job.image().or_else(|| job.variable(&self.variable)) else {
            return self.default.clone().ok_or_else(|| {
                Failure::job(format!(
                    "the job has no image: add `image` or the variable {}; the runner has no default",
                    self.variable
                ))
            });
        };
        let is_allowed =
            self.allowed.is_empty() || self.allowed.iter().any(|pattern| matches(pattern, image));
        if is_allowed || self.default.as_deref() == Some(image) {
            return Ok(image.to_owned());
        }
        let allowed = self.allowed.join(", ");
        Err(Failure::job(format!(
            "the image {image:?} is not allowed here; allowed are: {allowed}"
        )))
    }
}

/// Returns whether a text has the form of a pattern.
fn matches(pattern: &str, text: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**") {
        return (0..=text.len()).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]));
    }
    if let Some(rest) = pattern.strip_prefix('*') {
        let end = text.find('/').unwrap_or(text.len());
        return (0..=end).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]));
    }
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    match (pattern.next(), text.next()) {
        (None, None) => true,
        (Some(wanted), Some(found)) if wanted == found || wanted == '?' => {
            matches(pattern.as_str(), text.as_str())
        }
        _ => false,
    }
}

/// How long it is asked whether an image is there.
const LOOK_LIMIT: Duration = Duration::from_mins(2);

/// Pulls an image unless it is there, once among all processes with this store.
///
/// `is_present` is repeated for up to 2 minutes while it returns [`NotReady::NotYet`]; `pull` waits on its own. One process pulls, and
/// passes on its progress; the others wait, and show it. If the process dies, the next one pulls.
///
/// # Errors
///
/// The failure of `is_present` or `pull`, or when another process still pulls at the end of `limit`.
pub fn pull_once(
    store: &Store,
    image: &str,
    limit: Duration,
    stage: &Stage<'_>,
    mut is_present: impl FnMut() -> Result<bool, NotReady>,
    pull: impl FnOnce(&dyn Fn(&str)) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut find =
        || Wait::within(limit.min(LOOK_LIMIT)).until("look for the image", stage, &mut is_present);
    if find()? {
        return Ok(());
    }
    let path = store.path(&format!("{}.pull", resource_name(&["image", image])));
    let lock = FileLock::acquire(
        &path,
        &format!("wait for the pull of {image}"),
        limit,
        stage,
    )?;
    let pulled = match find() {
        Ok(false) => pull(&|progress| {
            lock.note(progress);
            stage.log(progress);
        }),
        found => found.map(|_| ()),
    };
    let removed = lock.remove();
    pulled.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn image_is_that_of_the_job_the_variable_or_the_default() {
        // R-VM-11
        let policy = |default: &str, allowed: &str| ImagePolicy {
            variable: "VM_IMAGE".to_owned(),
            default: (!default.is_empty()).then(|| default.to_owned()),
            allowed: allowed.split_whitespace().map(str::to_owned).collect(),
        };
        let resolve = |policy: &ImagePolicy, image: &str, variable: &str| {
            let pairs = [("CI_JOB_IMAGE", image), ("VM_IMAGE", variable)];
            let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
            policy.resolve(&JobContext {
                variables: BTreeMap::from(pairs),
                ..JobContext::default()
            })
        };
        for (image, variable, default, expect) in [
            ("i", "v", "d", "i"),
            ("i", "", "", "i"),
            ("", "v", "d", "v"),
            ("", "v", "", "v"),
            ("", "", "d", "d"),
        ] {
            assert_eq!(
                resolve(&policy(default, ""), image, variable).as_deref(),
                Ok(expect)
            );
        }
        let none = resolve(&policy("", ""), "", "").unwrap_err();
        assert!(
            matches!(&none, Failure::Job(text) if text.contains("no image")),
            "{none}"
        );

        let strict = policy("base", "r.example/team/*:?? r.example/**/ok");
        for allowed in ["r.example/team/app:22", "r.example/a/b/ok", "base"] {
            assert!(resolve(&strict, allowed, "").is_ok(), "{allowed}");
        }
        for refused in [
            "r.example/team/app:2",
            "r.example/team/a/b:22",
            "evil/r.example/a/ok",
            "base2",
        ] {
            let error = resolve(&strict, "", refused).unwrap_err();
            assert!(
                matches!(&error, Failure::Job(text) if text.contains("not allowed")),
                "{error}"
            );
        }
    }
}
