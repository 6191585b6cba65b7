use gitlab_api::{Accounts, Instance};
use pipeline::include::IncludeSource;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use web::{Url, Waiter};

/// Where GitLab's own templates are.
pub const TEMPLATES: &str =
    "https://gitlab.com/gitlab-org/gitlab/-/raw/HEAD/lib/gitlab/ci/templates/";

static USUAL_TEMPLATES: LazyLock<Url> =
    LazyLock::new(|| Url::parse(TEMPLATES).expect("the address is right"));

/// What decides which files are meant, and what finding them may cost.
#[derive(Debug, Clone)]
pub struct ElsewhereSettings {
    /// Which GitLabs there are.
    pub accounts: Arc<dyn Accounts>,
    /// The project's own GitLab, if they know none: a lock file says which one it was.
    pub own: Option<Instance>,
    /// The address that the names of templates are relative to; it ends with a slash.
    pub templates: Url,
    /// How long all files may take together.
    pub time: Duration,
    /// How many bytes all answers may have together.
    pub bytes: usize,
    /// Who waits for the answers.
    pub waiter: Arc<Waiter>,
}

/// The project of the pipeline, whose components come from the working tree: whoever develops one
/// wants the pipeline to use what is there, and not what the server has.
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

impl ElsewhereSettings {
    /// Returns those of a user with these accounts: templates of gitlab.com, 30 s and 300 MiB in all.
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
