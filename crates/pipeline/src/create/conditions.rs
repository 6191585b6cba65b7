use super::{JobLayers, Problem};
use crate::context::{PipelineContext, RefKind};
use crate::repository::Repository;
use crate::resolve::ResolvedJob;
use crate::rules::{Policy, RefPattern, Rule};

/// What conditions ask: the situation and the repository.
#[derive(Debug)]
pub(crate) struct Conditions<'a> {
    context: &'a PipelineContext,
    repository: &'a dyn Repository,
}

impl<'a> Conditions<'a> {
    pub(crate) fn new(context: &'a PipelineContext, repository: &'a dyn Repository) -> Self {
        Self {
            context,
            repository,
        }
    }

    /// Returns the place of the first rule of which all conditions hold.
    pub(super) fn first_holding(
        &self,
        rules: &[Rule],
        layers: &JobLayers<'_>,
    ) -> Result<Option<usize>, Problem> {
        for (at, rule) in rules.iter().enumerate() {
            let holds = rule
                .condition
                .as_ref()
                .is_none_or(|c| c.value.is_true(layers));
            if holds {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Returns whether `only` and `except` let a job in.
    pub(super) fn policies_keep(
        &self,
        resolved: &ResolvedJob,
        layers: &JobLayers<'_>,
    ) -> Result<bool, Problem> {
        let _ = (self.repository, layers);
        if resolved.except.is_none() && resolved.only.as_deref().is_some_and(is_default) {
            return Ok(self.context.ref_kind() != RefKind::MergeRequest);
        }
        if resolved.only.is_some() || resolved.except.is_some() {
            let message = "`only` and `except` are not supported yet";
            return Err(Problem::new(message, resolved.span));
        }
        Ok(true)
    }
}

/// Returns whether a policy is what jobs have by themselves: branches and tags.
fn is_default(policy: &Policy) -> bool {
    let refs = ["branches", "tags"].map(|name| RefPattern::Name(name.to_owned()));
    let default = Policy {
        refs: Some(refs.to_vec()),
        ..Policy::default()
    };
    *policy == default
}
