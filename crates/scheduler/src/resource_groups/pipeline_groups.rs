use super::groups::ResourceGroups;
use crate::Status;
use executor_core::PipelineId;
use pipeline::plan::Plan;
use std::collections::HashMap;
use std::sync::Arc;

/// The resource groups of a pipeline's jobs: reports which groups the pipeline will still request.
#[derive(Debug)]
pub(crate) struct PipelineGroups {
    resources: Arc<dyn ResourceGroups>,
    pipeline: PipelineId,
    groups: Vec<Group>,
    members: HashMap<usize, Member>,
}

#[derive(Debug)]
struct Group {
    name: String,
    /// How many of its jobs will still get it.
    coming: usize,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    group: usize,
    is_coming: bool,
}

impl PipelineGroups {
    pub(crate) fn new(plan: &Plan, resources: &Arc<dyn ResourceGroups>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut members = HashMap::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for job in 0..plan.jobs().len() {
            let Some(name) = plan.resource_group(job) else {
                continue;
            };
            let group = *by_name.entry(name).or_insert_with_key(|name| {
                let name = name.clone();
                groups.push(Group { name, coming: 0 });
                groups.len() - 1
            });
            groups[group].coming += 1;
            let is_coming = true;
            members.insert(job, Member { group, is_coming });
        }
        for group in &groups {
            resources.expect(&group.name, plan.id(), true);
        }
        Self {
            resources: Arc::clone(resources),
            pipeline: plan.id(),
            groups,
            members,
        }
    }

    /// Returns the group of a job; a group without a name is none.
    pub(crate) fn group_of(&self, job: usize) -> Option<&str> {
        let name = &self.groups[self.members.get(&job)?.group].name;
        (!name.is_empty()).then_some(name)
    }

    /// Notes the new status of a job.
    pub(crate) fn note(&mut self, job: usize, status: Status) {
        if self.groups.is_empty() {
            return;
        }
        let Some(member) = self.members.get_mut(&job) else {
            return;
        };
        // A waiting job is still coming: before its request, jobs of other pipelines would overtake it.
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
}

impl Drop for PipelineGroups {
    fn drop(&mut self) {
        for group in self.groups.iter().filter(|group| group.coming > 0) {
            self.resources.expect(&group.name, self.pipeline, false);
        }
    }
}
