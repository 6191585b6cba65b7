use super::heading;
use clap::Args;
use clap::builder::PossibleValuesParser;
use workstation::{SOURCES, SituationOptions};

/// The situation in which a pipeline is created; without any option, a push of the current branch.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::SITUATION)]
pub(crate) struct SituationArgs {
    /// The pipeline of this branch; with --mr, the source branch
    #[arg(long, value_name = "BRANCH", conflicts_with = "tag")]
    branch: Option<String>,
    /// The pipeline of this tag
    #[arg(long, value_name = "TAG", conflicts_with = "mr")]
    tag: Option<String>,
    /// The pipeline of a merge request
    #[arg(long)]
    mr: bool,
    /// The target branch of the merge request; default: the default branch
    #[arg(long, value_name = "BRANCH", conflicts_with = "tag")]
    target: Option<String>,
    /// The source of the pipeline; default: push, or merge_request_event
    #[arg(long, hide_short_help = true, value_name = "SOURCE", value_parser = PossibleValuesParser::new(SOURCES))]
    source: Option<String>,
    /// The changed files, instead of those that Git reports; without a value, none
    #[arg(long, hide_short_help = true, value_name = "FILE", num_args = 0..)]
    changes: Option<Vec<String>>,
    /// The default branch, instead of the one that Git reports
    #[arg(long, hide_short_help = true, value_name = "BRANCH")]
    default_branch: Option<String>,
}

impl SituationArgs {
    /// Returns the selected mode.
    pub(crate) fn options(&self) -> SituationOptions {
        SituationOptions {
            branch: self.branch.clone(),
            tag: self.tag.clone(),
            merge_request: self.mr,
            target: self.target.clone(),
            source: self.source.clone(),
            changes: self.changes.clone(),
            default_branch: self.default_branch.clone(),
        }
    }

    /// Means this branch or tag, where none is named: another one may be checked out by now.
    pub(crate) fn pin(&mut self, reference: &str, is_tag: bool) {
        if self.branch.is_some() || self.tag.is_some() || reference.is_empty() {
            return;
        }
        if is_tag {
            self.tag = Some(reference.to_owned());
        } else {
            self.branch = Some(reference.to_owned());
        }
    }

    /// Returns other situations, the most common first; `names` may be those of branches, tags or
    /// sources.
    pub(crate) fn others(&self, default_branch: &str, names: &[String]) -> Vec<Self> {
        let base = Self {
            changes: self.changes.clone(),
            default_branch: self.default_branch.clone(),
            ..Self::default()
        };
        let branch = |name: &str| Self {
            branch: Some(name.to_owned()),
            ..base.clone()
        };
        let tag = |name: &str| Self {
            tag: Some(name.to_owned()),
            ..base.clone()
        };
        let source = |name: &str| Self {
            source: Some(name.to_owned()),
            ..base.clone()
        };
        let target = |name: &str| Self {
            mr: true,
            target: Some(name.to_owned()),
            ..base.clone()
        };
        let mut others = vec![
            branch(default_branch),
            target(default_branch),
            tag("v1.0.0"),
        ];
        others.extend(["web", "schedule", "trigger", "api"].map(source));
        for name in names {
            let merge_request = Self {
                mr: true,
                ..branch(name)
            };
            others.extend([branch(name), target(name), tag(name), merge_request]);
            if SOURCES.contains(&name.as_str()) {
                others.push(source(name));
            }
        }
        others
    }

    /// Returns the options that ask for the same again.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.mr {
            words.push("--mr".to_owned());
        }
        for (option, value) in [
            ("--branch", &self.branch),
            ("--tag", &self.tag),
            ("--target", &self.target),
            ("--source", &self.source),
            ("--default-branch", &self.default_branch),
        ] {
            words.extend(
                value
                    .iter()
                    .flat_map(|value| [option.to_owned(), value.clone()]),
            );
        }
        if let Some(changes) = &self.changes {
            words.push("--changes".to_owned());
            words.extend(changes.iter().cloned());
        }
        words
    }
}
