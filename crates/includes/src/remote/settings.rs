use gitlab_api::{Accounts, Instance};
use pipeline::include::IncludeSource;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use web::{Url, Waiter};

/// The address of GitLab's own templates.
pub const TEMPLATES: &str =
    "https://gitlab.com/gitlab-org/gitlab/-/raw/HEAD/lib/gitlab/ci/templates/";

static USUAL_TEMPLATES: LazyLock<Url> =
    LazyLock::new(|| Url::parse(TEMPLATES).expect("the address is right"));

/// Where included files are found, and what finding them may cost.
#[derive(Debug, Clone)]
pub struct RemoteSettings {
    /// The known GitLabs.
    pub accounts: Arc<dyn Accounts>,
    /// The project's own GitLab from the lock file, used if the accounts do not know it.
    pub own: Option<Instance>,
    /// The base address of templates; it ends with a slash.
    pub templates: Url,
    /// The time limit for all files together.
    pub time: Duration,
    /// The greatest size of all answers together.
    pub bytes: usize,
    /// Blocks until answers arrive.
    pub waiter: Arc<Waiter>,
}

/// The pipeline's own project. Its components come from the working tree, since their developer wants
/// to run what is there, not what the server has.
#[derive(Debug, Clone)]
pub struct OwnProject {
    /// Its path.
    pub path: String,
    /// The commit that is checked out.
    pub sha: String,
    /// The branch or tag that the pipeline runs for.
    pub reference: String,
    /// Its files.
    pub files: Arc<dyn IncludeSource>,
}

impl RemoteSettings {
    /// Returns the defaults: templates of gitlab.com, 30 s and 300 MiB in all.
    pub fn new(accounts: Arc<dyn Accounts>) -> Self {
        Self {
            accounts,
            own: None,
            templates: USUAL_TEMPLATES.clone(),
            time: Duration::from_secs(30),
            bytes: 300 << 20,
            waiter: Arc::new(Waiter::new()),
        }
    }
}
