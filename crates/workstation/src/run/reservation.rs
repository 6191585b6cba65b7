//! What a run needs before it can begin.

use super::local_run::LocalRun;
use super::options::RunOptions;
use super::planning::plan;
use crate::error::LocalError;
use crate::history::Family;
use crate::history::logs::RunLogs;
use crate::history::state::StateDir;
use crate::project::local_pipeline::LocalPipeline;
use crate::project::local_project::LocalProject;
use crate::reuse;
use crate::run::caches;
use crate::run::isolation::{Isolation, Prepared};
use crate::run::resource_groups;
use crate::run::session;
use job_runner::JobNotes;
use pipeline::plan::PlannedJob;
use process::Supervisor;
use std::sync::Arc;

impl LocalRun {
    /// Plans the run, and takes a directory and what nobody else may have meanwhile.
    pub(super) async fn reserve(
        project: LocalProject,
        pipeline: &LocalPipeline,
        state: &StateDir,
        options: RunOptions,
        supervisor: Supervisor,
    ) -> Result<Self, LocalError> {
        let state_dir = state.clone();
        let state = state.project(project.root());
        let resources = Arc::new(resource_groups::of_project(&state_dir, &state)?);
        let sources = Prepared::new(options.isolation, &project, &state);
        // Two tools of git side by side: a trivial run is not much longer than one of them.
        pipeline.look_ahead();
        if let Prepared::Snapshot(snapshot) = &sources {
            snapshot.check(&supervisor).await?;
            snapshot.list_ahead(&supervisor.tree()).await;
        }
        let in_place = match options.isolation {
            Isolation::None => Some(state.lock_in_place()?),
            Isolation::Snapshot(_) | Isolation::Worktree => None,
        };
        let (directory, earlier) = match &options.continues {
            Some(continuation) => {
                let (directory, earlier) = state.reopen(continuation)?;
                (directory, Some(earlier))
            }
            None => (state.new_pipeline()?, None),
        };
        let planned = if let Some(session) = &options.session {
            session::begin(&directory, pipeline, &state, session, &supervisor)
                .map(|(plan, found)| (plan, Some(found)))
        } else {
            let plan = plan(directory.id, pipeline, &options, earlier.as_ref());
            plan.map(|plan| (plan, None))
        };
        if planned.is_err() && earlier.is_none() {
            // Should this fail, it is removed like a run that is too old.
            let _ = process::remove_tree(&directory.path);
        }
        let (plan, found) = planned?;
        let plan = Arc::new(plan);
        let (mut life, mut notes, mut family) = (1, Vec::new(), Family::default());
        let mut earlier = earlier;
        if let Some(earlier) = &mut earlier {
            if plan.jobs().iter().any(PlannedJob::is_bridge) {
                family = Family::read(&state_dir);
                let kind = earlier.kind.of_children();
                earlier.look_below(&family, project.root(), directory.id, &kind);
            }
            life = earlier.next_life(&directory.path);
            earlier.check(directory.id, &plan)?;
            notes = earlier.changes(&plan);
        }
        if let Some(found) = &found {
            notes.clone_from(&found.notes);
        }
        let notes_of_jobs = JobNotes::at(directory.path.join("running"));
        let mut left_jobs = Vec::new();
        if let Some(earlier) = &earlier {
            left_jobs = notes_of_jobs.read();
            left_jobs.retain(|note| earlier.may_go_on_with(note, &plan));
        }
        let logs = RunLogs::default();
        logs.add(directory.path.clone(), life, &plan);
        let caches = caches::of_plan(
            &plan,
            &pipeline.read_pipeline().outside,
            &state_dir,
            project.root(),
        )?;
        let reuse = reuse::of_run(&state_dir, &state, &options, &supervisor);
        Ok(Self {
            reuse,
            sources: sources.of_plan(&plan, &project),
            caches,
            project,
            plan,
            read: Arc::clone(pipeline.read_pipeline()),
            options,
            supervisor,
            state_dir,
            state,
            directory,
            earlier,
            life,
            notes,
            resources,
            logs,
            family: Arc::new(family),
            found,
            notes_of_jobs,
            left_jobs,
            left_builds: Vec::new(),
            are_claimed: false,
            _in_place: in_place,
        })
    }
}
