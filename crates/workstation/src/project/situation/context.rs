//! The context of a pipeline, from its situation and the repository.

use super::options::{EXTERNAL_PULL_REQUEST, PARENT, PUSH, UPSTREAM};
use super::remote_url::{path_of_url, server_of_url};
use super::{Situation, SituationRef};
use crate::project::repository::{BlockingGit, BlockingGitError, ChangeBase, Situated, merge_base};
use crate::remote::{OwnServer, may_be_gitlab};
use executor_core::job::{PipelineId, RefType};
use git::{Head, RepositoryFacts, RepositoryRefs};
use includes::LockFile;
use pipeline::context::{
    Chat, Commit, ExternalPullRequest, MergeRequest, MergeRequestBranch, PipelineContext, Project,
    Trigger, Upstream, User,
};
use std::path::Path;

/// The id for no commit.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// A situation in a repository.
#[derive(Debug)]
pub(crate) struct Described {
    /// The context of the jobs.
    pub(crate) context: PipelineContext,
    /// The situation for the repository.
    pub(crate) situated: Situated,
    /// Where the simulation differs from the repository.
    pub(crate) notes: Vec<String>,
}

/// Describes a situation; `file` is the pipeline file, and `server` the project's GitLab, unless only the remote
/// names it.
///
/// Starts git only for the message of a tag and for the merge base of a merge request.
pub(crate) fn describe(
    situation: &Situation,
    facts: &RepositoryFacts,
    server: Option<&OwnServer>,
    git: &BlockingGit,
    file: &Path,
) -> Result<Described, BlockingGitError> {
    Describing {
        situation,
        facts,
        server,
        git,
        refs: RepositoryRefs::of(git.root()),
        notes: Vec::new(),
    }
    .describe(file)
}

struct Describing<'a> {
    situation: &'a Situation,
    facts: &'a RepositoryFacts,
    server: Option<&'a OwnServer>,
    git: &'a BlockingGit,
    refs: Option<RepositoryRefs>,
    notes: Vec<String>,
}

impl Describing<'_> {
    fn describe(mut self, file: &Path) -> Result<Described, BlockingGitError> {
        let project = self.project();
        let mut commit = self.commit(&project)?;
        let mut base = ChangeBase::Unknown;
        let mut merge_request = None;
        if let SituationRef::MergeRequest { target, .. } = &self.situation.reference {
            let target = target.as_ref().unwrap_or(&project.default_branch);
            let described = self.merge_request(&commit, target)?;
            base = change_base_of(&described);
            merge_request = Some(described);
        } else if let Some(before) = self.previous_tip(&commit) {
            commit.before_sha.clone_from(&before);
            base = ChangeBase::Before(before);
        }
        if let Some(changes) = &self.situation.changes {
            base = ChangeBase::Named(changes.as_slice().into());
        }
        let situated = Situated {
            base,
            branch: (commit.ref_type == RefType::Branch).then(|| commit.ref_name.clone()),
            project: project.path.clone(),
            default_branch: project.default_branch.clone(),
        };
        let remote = self.facts.remote_url.as_deref();
        let mut context = PipelineContext {
            source: self.situation.source.clone(),
            created_at: jiff::Timestamp::now(),
            config_path: file.display().to_string(),
            server_url: self.server_url(remote),
            user: self.user(),
            project,
            commit,
            merge_request,
            ..PipelineContext::default()
        };
        add_origin(&mut context);
        stamp(&mut context, 1);
        Ok(Described {
            context,
            situated,
            notes: self.notes,
        })
    }

    /// Returns the URL of the project's GitLab. For a mirror, the lock file has it instead of the remote.
    fn server_url(&self, remote: Option<&str>) -> String {
        let is_named = self.server.is_some_and(|server| server.is_named);
        let locked = if is_named || remote.is_some_and(may_be_gitlab) {
            None
        } else {
            // Its errors are reported when includes are read.
            LockFile::read(self.git.root()).ok().flatten()
        };
        let server = locked.and_then(|file| Some(file.own()?.address().to_owned()));
        let server = server.or_else(|| Some(self.server?.url.clone()));
        let server = server.or_else(|| remote.and_then(server_of_url));
        server.unwrap_or_else(|| "https://gitlab.com".to_owned())
    }

    fn project(&self) -> Project {
        let from_server = self.server.and_then(|server| server.path.clone());
        let remote = self.facts.remote_url.as_deref();
        let from_remote = from_server.or_else(|| remote.and_then(path_of_url));
        let folder = self.facts.toplevel.file_name();
        let folder = folder.map(|name| name.to_string_lossy().replace(char::is_control, "-"));
        let local = || format!("local/{}", folder.unwrap_or_else(|| "project".to_owned()));
        let named = &self.situation.default_branch;
        let known = named.as_ref().or(self.facts.default_branch.as_ref());
        Project {
            id: 1,
            namespace_id: 1,
            path: from_remote.unwrap_or_else(local),
            default_branch: known.cloned().unwrap_or_else(|| "main".to_owned()),
            ..Project::default()
        }
    }

    fn commit(&mut self, project: &Project) -> Result<Commit, BlockingGitError> {
        let (ref_name, ref_type) = self.reference(project);
        let mut commit = Commit {
            sha: NO_COMMIT.to_owned(),
            before_sha: NO_COMMIT.to_owned(),
            ref_name,
            ref_type,
            ..Commit::default()
        };
        if let Some(facts) = &self.facts.commit {
            commit.sha.clone_from(&facts.sha);
            commit.message.clone_from(&facts.message);
            commit.timestamp.clone_from(&facts.committer_date);
            commit.author = format!("{} <{}>", facts.author_name, facts.author_email);
        }
        if commit.ref_type == RefType::Tag {
            commit.tag_message = self.tag_message(&commit.ref_name)?;
        }
        Ok(commit)
    }

    /// Returns the branch or tag of the pipeline.
    fn reference(&mut self, project: &Project) -> (String, RefType) {
        match &self.situation.reference {
            SituationRef::Branch(branch)
            | SituationRef::MergeRequest {
                branch: Some(branch),
                ..
            } => {
                self.note_branch(branch);
                (branch.clone(), RefType::Branch)
            }
            SituationRef::Tag(tag) => {
                self.note_tag(tag);
                (tag.clone(), RefType::Tag)
            }
            SituationRef::CheckedOut => match &self.facts.head {
                Head::Branch(branch) => (branch.clone(), RefType::Branch),
                Head::Tag(tag) => (tag.clone(), RefType::Tag),
                Head::Detached => {
                    self.note_detached(&project.default_branch);
                    (project.default_branch.clone(), RefType::Branch)
                }
            },
            SituationRef::MergeRequest { branch: None, .. } => match &self.facts.head {
                Head::Branch(branch) => (branch.clone(), RefType::Branch),
                Head::Tag(_) | Head::Detached => {
                    let note = "no branch is checked out; the source of the merge request is `HEAD` \
                                (--branch sets another)";
                    self.notes.push(note.to_owned());
                    ("HEAD".to_owned(), RefType::Branch)
                }
            },
        }
    }

    /// Notes that the branch of the commit is unknown.
    fn note_detached(&mut self, branch: &str) {
        if self.facts.commit.is_some() {
            self.notes.push(format!(
                "no branch or tag is checked out; the pipeline is for `{branch}` (--branch and --tag set \
                 another)"
            ));
        }
    }

    /// Notes where a branch points, if not to the current commit.
    fn note_branch(&mut self, branch: &str) {
        if self.facts.head == Head::Branch(branch.to_owned()) {
            return;
        }
        let refs = self.refs.as_ref();
        let tip = refs.and_then(|refs| refs.branch(branch).or_else(|| refs.remote_branch(branch)));
        self.note_tip("branch", branch, tip.as_deref());
    }

    fn note_tag(&mut self, tag: &str) {
        let object = self.refs.as_ref().and_then(|refs| refs.tag(tag));
        if object.is_none() {
            self.note_tip("tag", tag, None);
        }
    }

    fn note_tip(&mut self, kind: &str, name: &str, tip: Option<&str>) {
        let head = self.facts.commit.as_ref().map(|commit| commit.sha.as_str());
        let note = match tip {
            None => {
                format!("there is no {kind} `{name}`; it is simulated with the current commit")
            }
            Some(tip) if Some(tip) == head => return,
            Some(tip) => format!(
                "the {kind} `{name}` is at {}; it is simulated with the current commit",
                tip.get(..8).unwrap_or(tip)
            ),
        };
        self.notes.push(note);
    }

    /// Returns the message of an annotated tag; empty for others.
    fn tag_message(&self, tag: &str) -> Result<String, BlockingGitError> {
        if self.facts.commit.is_none() {
            return Ok(String::new());
        }
        let format = "--format=%(objecttype)%00%(refname)%00%(contents)";
        let pattern = format!("refs/tags/{tag}");
        let output = self.git.read(&["for-each-ref", format, &pattern])?;
        let output = String::from_utf8_lossy(&output);
        let mut parts = output.splitn(3, '\0');
        let is_annotated = parts.next() == Some("tag") && parts.next() == Some(&pattern);
        let message = parts.next().filter(|_| is_annotated).unwrap_or_default();
        Ok(message.trim_end_matches('\n').to_owned())
    }

    /// Returns the commit of the branch on the server before a push.
    fn previous_tip(&self, commit: &Commit) -> Option<String> {
        let is_push = [PUSH, PARENT].contains(&self.situation.source.as_str());
        if !is_push || commit.ref_type != RefType::Branch {
            return None;
        }
        self.refs.as_ref()?.remote_branch(&commit.ref_name)
    }

    fn merge_request(
        &mut self,
        commit: &Commit,
        target: &str,
    ) -> Result<MergeRequest, BlockingGitError> {
        let refs = self.refs.as_ref();
        let target_sha =
            refs.and_then(|refs| refs.remote_branch(target).or_else(|| refs.branch(target)));
        let base = match (&target_sha, &self.facts.commit) {
            (Some(sha), Some(_)) => merge_base(self.git, sha)?,
            _ => None,
        };
        if target_sha.is_none() {
            self.notes.push(format!(
                "there is no branch `{target}`, so every `changes` matches (--target sets another)"
            ));
        }
        if target == commit.ref_name {
            self.notes.push(format!(
                "source and target of the merge request are both `{target}` (--branch and --target set \
                 others)"
            ));
        }
        Ok(MergeRequest {
            id: 1,
            iid: 1,
            title: commit.title().to_owned(),
            description: commit.description().to_owned(),
            diff_id: 1,
            diff_base_sha: base.unwrap_or_default(),
            source: MergeRequestBranch {
                name: commit.ref_name.clone(),
                sha: commit.sha.clone(),
                is_protected: false,
            },
            target: MergeRequestBranch {
                name: target.to_owned(),
                sha: target_sha.unwrap_or_default(),
                is_protected: false,
            },
            ..MergeRequest::default()
        })
    }

    /// The user of the pipeline is the author of the current commit.
    fn user(&self) -> User {
        let Some(commit) = &self.facts.commit else {
            return User::default();
        };
        let login = commit.author_email.split('@').next().unwrap_or_default();
        User {
            id: 1,
            login: login.to_owned(),
            name: commit.author_name.clone(),
            email: commit.author_email.clone(),
        }
    }
}

/// Sets the ids of a pipeline and its jobs.
pub(crate) fn stamp(context: &mut PipelineContext, id: u64) {
    context.id = PipelineId(id);
    context.iid = id;
    // Ids of jobs are unique over all pipelines of a project, as in GitLab.
    context.first_job_id = id.saturating_mul(100_000);
}

fn change_base_of(merge_request: &MergeRequest) -> ChangeBase {
    match merge_request.diff_base_sha.as_str() {
        "" => ChangeBase::Unknown,
        base => ChangeBase::MergeBase(base.to_owned()),
    }
}

/// Adds the data of some sources. There is no such data here, so ids are invented and texts are empty.
fn add_origin(context: &mut PipelineContext) {
    match context.source.as_str() {
        "trigger" => context.trigger = Some(Trigger::default()),
        "schedule" => context.schedule_description = Some(String::new()),
        "chat" => context.chat = Some(Chat::default()),
        UPSTREAM | PARENT => {
            context.upstream = Some(Upstream {
                project_id: 1,
                pipeline_id: 1,
                job_id: 1,
            });
        }
        EXTERNAL_PULL_REQUEST => {
            let (project, commit) = (&context.project, &context.commit);
            context.external_pull_request = Some(ExternalPullRequest {
                iid: 1,
                source_repository: project.path.clone(),
                target_repository: project.path.clone(),
                source_branch: commit.ref_name.clone(),
                source_sha: commit.sha.clone(),
                target_branch: project.default_branch.clone(),
                target_sha: String::new(),
            });
        }
        _ => {}
    }
}
