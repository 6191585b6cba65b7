use super::Status;
use super::resources::ResourceGroups;
use executor_core::PipelineId;
use pipeline::plan::Plan;
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// The jobs of a pipeline that are in resource groups, and those of them that wait for theirs.
#[derive(Debug)]
pub(super) struct GroupWaits {
    pub(super) resources: Arc<dyn ResourceGroups>,
    pipeline: PipelineId,
    groups: Vec<Group>,
    members: HashMap<usize, Member>,
    /// What waits for a group.
    tasks: JoinSet<()>,
    /// Who tells a pipeline to go on may do so from any thread.
    runtime: Handle,
}

#[derive(Debug)]
struct Group {
    name: String,
    /// How many of its jobs are still to get it.
    coming: usize,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    group: usize,
    is_coming: bool,
}

impl GroupWaits {
    pub(super) fn new(plan: &Plan, resources: &Arc<dyn ResourceGroups>) -> Self {
        let mut waits = Self {
            resources: Arc::clone(resources),
            pipeline: plan.id(),
            groups: Vec::new(),
            members: HashMap::new(),
            tasks: JoinSet::new(),
            runtime: Handle::current(),
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        for job in 0..plan.jobs().len() {
            let Some(name) = plan.resource_group(job) else {
                continue;
            };
            let group = *places.entry(name).or_insert_with_key(|name| {
                let name = name.clone();
                waits.groups.push(Group { name, coming: 0 });
                waits.groups.len() - 1
            });
            waits.groups[group].coming += 1;
            let is_coming = true;
            waits.members.insert(job, Member { group, is_coming });
        }
        for group in &waits.groups {
            waits.resources.expect(&group.name, waits.pipeline, true);
        }
        waits
    }

    /// Returns the group of a job; one without a name is none.
    pub(super) fn group_of(&self, job: usize) -> Option<&str> {
        let name = &self.groups[self.members.get(&job)?.group].name;
        (!name.is_empty()).then_some(name)
    }

    /// Notes that a job has come to another status.
    pub(super) fn note(&mut self, job: usize, status: Status) {
        if self.groups.is_empty() {
            return;
        }
        let Some(member) = self.members.get_mut(&job) else {
            return;
        };
        // Also while it waits: others would slip in before it has asked.
        let is_coming = matches!(
            status,
            Status::Created | Status::Scheduled | Status::WaitingForResource
        );
        if std::mem::replace(&mut member.is_coming, is_coming) == is_coming {
            return;
        }
        let group = &mut self.groups[member.group];
        let was = group.coming > 0;
        if is_coming {
            group.coming += 1;
        } else {
            group.coming -= 1;
        }
        let is = group.coming > 0;
        if was != is {
            self.resources.expect(&group.name, self.pipeline, is);
        }
    }

    /// Waits for a group beside everything else.
    pub(super) fn spawn(&mut self, wait: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn_on(wait, &self.runtime);
    }
}

impl Drop for GroupWaits {
    fn drop(&mut self) {
        for group in self.groups.iter().filter(|group| group.coming > 0) {
            self.resources.expect(&group.name, self.pipeline, false);
        }
    }
}
