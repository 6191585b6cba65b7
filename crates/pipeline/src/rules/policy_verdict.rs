use super::evaluation::{expression_clause, file_clause};
use super::verdict::{ClauseKind, ClauseVerdict};
use super::{Policy, RefPattern, RuleContext, RuleError};
use crate::context::PipelineContext;
use crate::expression::Expression;
use std::sync::Arc;

/// One part of `only` or `except`.
#[derive(Clone, Copy)]
enum Part<'p> {
    Refs(&'p [RefPattern]),
    Kubernetes,
    Variables(&'p [Arc<Expression>]),
    Changes(&'p [String]),
}

impl Policy {
    /// Returns whether this `only` keeps a job: whether all its parts hold.
    ///
    /// # Errors
    ///
    /// When the repository cannot be read.
    pub fn keeps(
        &self,
        pipeline: &PipelineContext,
        context: &RuleContext<'_>,
    ) -> Result<bool, RuleError> {
        for part in self.parts() {
            if !part.holds(pipeline, context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether this `except` excludes a job: whether any of its parts holds.
    ///
    /// # Errors
    ///
    /// When the repository cannot be read.
    pub fn excludes(
        &self,
        pipeline: &PipelineContext,
        context: &RuleContext<'_>,
    ) -> Result<bool, RuleError> {
        for part in self.parts() {
            if part.holds(pipeline, context)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Evaluates every part, to explain why a job is kept or excluded.
    pub fn examine(
        &self,
        pipeline: &PipelineContext,
        context: &RuleContext<'_>,
    ) -> Vec<ClauseVerdict> {
        let parts = self.parts();
        let clauses = parts.flat_map(|part| part.examine(pipeline, context));
        clauses.collect()
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let parts = [
            self.refs.as_deref().map(Part::Refs),
            self.kubernetes.then_some(Part::Kubernetes),
            self.variables.as_deref().map(Part::Variables),
            self.changes.as_deref().map(Part::Changes),
        ];
        parts.into_iter().flatten()
    }
}

impl Part<'_> {
    fn holds(
        self,
        pipeline: &PipelineContext,
        context: &RuleContext<'_>,
    ) -> Result<bool, RuleError> {
        Ok(match self {
            Self::Refs(refs) => refs.iter().any(|entry| entry.is_match(pipeline)),
            Self::Kubernetes => pipeline.kubernetes_active,
            Self::Variables(conditions) => {
                let mut conditions = conditions.iter();
                conditions.any(|condition| condition.is_true(context.variables))
            }
            Self::Changes(globs) => context.files.policy_changes(globs)?.holds(),
        })
    }

    /// Returns the verdict of the part; each expression has its own verdict.
    fn examine(self, pipeline: &PipelineContext, context: &RuleContext<'_>) -> Vec<ClauseVerdict> {
        match self {
            Self::Refs(refs) => vec![examine_refs(refs, pipeline)],
            Self::Kubernetes => {
                let holds = pipeline.kubernetes_active;
                let number = if holds { "a" } else { "no" };
                let note = &format!("the project has {number} cluster");
                vec![clause(ClauseKind::Kubernetes, "active", holds, note)]
            }
            Self::Variables(conditions) => {
                let conditions = conditions.iter();
                let clauses = conditions.map(|it| expression_clause(it, context.variables));
                clauses.collect()
            }
            Self::Changes(globs) => {
                let verdict = context.files.policy_changes(globs);
                let text = globs.join(", ");
                vec![file_clause(ClauseKind::Changes, text, &verdict, context)]
            }
        }
    }
}

fn examine_refs(refs: &[RefPattern], pipeline: &PipelineContext) -> ClauseVerdict {
    let texts: Vec<String> = refs.iter().map(ToString::to_string).collect();
    let matching = refs.iter().position(|entry| entry.is_match(pipeline));
    let kind = pipeline.ref_kind();
    let (name, source) = (&pipeline.commit.ref_name, &pipeline.source);
    let what = format!("a pipeline of the {kind} `{name}`, started by `{source}`");
    let note = match matching {
        Some(at) => format!("`{}` matches {what}", texts[at]),
        None => format!("none matches {what}"),
    };
    clause(
        ClauseKind::Refs,
        &texts.join(", "),
        matching.is_some(),
        &note,
    )
}

fn clause(kind: ClauseKind, text: &str, holds: bool, note: &str) -> ClauseVerdict {
    ClauseVerdict {
        kind,
        text: text.to_owned(),
        holds: Some(holds),
        values: Vec::new(),
        steps: Vec::new(),
        note: Some(note.to_owned()),
    }
}
