use super::{Plan, PlannedJob, ancestors, caches, expanded, variables};
use crate::context::PipelineContext;
use crate::create::Creation;
use executor_core::job::{
    Artifact, ArtifactFormat, ArtifactWhen, ArtifactsDefinition, Dependency, GitInfo, Hook,
    HookName, Image, Job, JobDefinition, JobFeatures, JobInfo, RunnerInfo, ServiceDefinition, Step,
    StepWhen,
};
use executor_core::variable::JobVariable;
use serde_json::Value;

impl Plan {
    /// Returns the job at `index` in the form an executor receives.
    ///
    /// It is built on demand: jobs list their dependencies, so the payloads of a large pipeline
    /// together would take quadratic memory.
    ///
    /// # Panics
    ///
    /// Panics when there is no such job.
    pub fn payload(&self, index: usize) -> Job {
        self.payload_with(index, &[])
    }

    /// Returns the job at `index` with variables from dotenv reports of earlier jobs, of which
    /// later ones win. They override variables of the file, and are overridden by those of the
    /// project and those passed to the pipeline.
    ///
    /// # Panics
    ///
    /// Panics when there is no such job.
    pub fn payload_with(&self, index: usize, dotenv: &[JobVariable]) -> Job {
        let planned = &self.jobs[index];
        let context = &self.context;
        let definition = &planned.definition;
        let timeout = context.timeout_of(definition);
        let layers = self.layers();
        let job_layers = Creation::job_layers(&planned.created, &layers);
        Job {
            id: planned.id,
            allow_git_fetch: true,
            job_info: job_info(definition, context),
            git_info: git_info(context),
            runner_info: RunnerInfo {
                timeout,
                ..RunnerInfo::default()
            },
            variables: variables::of_job(self, planned, &job_layers, dotenv),
            steps: steps(definition, timeout),
            image: definition.image.as_deref().map(image).unwrap_or_default(),
            services: definition.services.iter().flatten().map(service).collect(),
            artifacts: artifacts(definition.artifacts.as_deref()),
            cache: caches::of(definition.cache.as_deref(), context.commit.is_protected),
            dependencies: dependencies(self, index),
            features: JobFeatures {
                trace_sections: true,
                ..JobFeatures::default()
            },
            hooks: hooks(definition),
            run: run(definition),
            definition: Some(Box::new(expanded::definition(definition, &job_layers))),
            ..Job::default()
        }
    }
}

fn job_info(definition: &JobDefinition, context: &PipelineContext) -> JobInfo {
    JobInfo {
        name: definition.name.clone(),
        stage: definition.stage.clone(),
        pipeline_id: context.id,
        project_id: context.project.id,
        project_name: context.project.name().to_owned(),
        namespace_id: context.project.namespace_id,
        project_full_path: context.project.path.clone(),
        user_id: context.user.id,
        ..JobInfo::default()
    }
}

fn git_info(context: &PipelineContext) -> GitInfo {
    let commit = &context.commit;
    GitInfo {
        ref_name: commit.ref_name.clone(),
        ref_type: commit.ref_type,
        sha: commit.sha.clone(),
        before_sha: commit.before_sha.clone(),
        ..context.git.clone()
    }
}

fn steps(definition: &JobDefinition, timeout: u64) -> Vec<Step> {
    let before = definition.before_script.iter().flatten();
    let script = before.chain(definition.script.iter().flatten());
    let mut steps = vec![Step {
        name: Step::SCRIPT.to_owned(),
        script: script.cloned().collect(),
        timeout,
        when: StepWhen::OnSuccess,
        allow_failure: false,
    }];
    let after = definition.after_script.clone().unwrap_or_default();
    if !after.is_empty() {
        steps.push(Step {
            name: Step::AFTER_SCRIPT.to_owned(),
            script: after,
            timeout,
            when: StepWhen::Always,
            allow_failure: true,
        });
    }
    steps
}

/// Returns the steps as JSON, unchanged: their expressions are evaluated in the job's environment.
fn run(definition: &JobDefinition) -> String {
    let steps = definition.run.as_ref().map(serde_json::to_string);
    steps.and_then(Result::ok).unwrap_or_default()
}

/// Moves executor options to their position in a payload, which differs from that in a file.
fn image(image: &Image) -> Image {
    let mut image = image.clone();
    image.executor_opts.docker = image.docker.take();
    image.executor_opts.kubernetes = image.kubernetes.take();
    image
}

fn service(service: &ServiceDefinition) -> Image {
    image(&Image::from(service))
}

fn artifacts(definition: Option<&ArtifactsDefinition>) -> Vec<Artifact> {
    let Some(definition) = definition else {
        return Vec::new();
    };
    let expire_in = definition.expire_in.clone().unwrap_or_default();
    let untracked = definition.untracked.unwrap_or_default();
    let mut artifacts = Vec::new();
    if definition.paths.is_some() || untracked {
        artifacts.push(Artifact {
            name: definition.name.clone().unwrap_or_default(),
            untracked,
            paths: definition.paths.clone().unwrap_or_default(),
            exclude: definition.exclude.clone().unwrap_or_default(),
            when: definition.when.unwrap_or_default(),
            expire_in: expire_in.clone(),
            expose_as: definition.expose_as.clone(),
            ..Artifact::default()
        });
    }
    for (kind, files) in definition.reports.iter().flatten() {
        artifacts.push(report(kind, files, &expire_in));
    }
    artifacts
}

/// Returns a report, which is uploaded on its own and also when the job failed.
fn report(kind: &str, files: &Value, expire_in: &str) -> Artifact {
    let files = match files {
        Value::Array(files) => files.iter().filter_map(Value::as_str).collect(),
        Value::String(file) => vec![file.as_str()],
        other => other
            .get("path")
            .and_then(Value::as_str)
            .into_iter()
            .collect(),
    };
    Artifact {
        paths: files.into_iter().map(ToOwned::to_owned).collect(),
        when: ArtifactWhen::Always,
        artifact_type: kind.to_owned(),
        artifact_format: ArtifactFormat::Gzip,
        expire_in: expire_in.to_owned(),
        ..Artifact::default()
    }
}

fn dependencies(plan: &Plan, index: usize) -> Vec<Dependency> {
    let earlier = plan
        .dependencies(index)
        .into_iter()
        .map(|at| &plan.jobs[at]);
    let dependency = |job: &PlannedJob| Dependency {
        id: job.id,
        name: job.name().to_owned(),
        ..Dependency::default()
    };
    // An error here was reported by `check_local`, if the caller asked for that check.
    let inherited = ancestors::dependencies(plan, &plan.jobs[index]).unwrap_or_default();
    earlier.map(dependency).chain(inherited).collect()
}

fn hooks(definition: &JobDefinition) -> Vec<Hook> {
    let script = definition.hooks.as_ref();
    let script = script.and_then(|hooks| hooks.pre_get_sources_script.clone());
    let hook = |script| Hook {
        name: HookName::PreGetSources,
        script,
    };
    script.map(hook).into_iter().collect()
}
