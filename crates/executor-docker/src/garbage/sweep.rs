//! Removes the objects of dead runs from an engine.

use crate::config::NAME;
use crate::engine::Engine;
use crate::engine::labels::{ATTEMPT, JOB_ID, KEEP, MANAGED, OWNER};
use crate::engine::names::Names;
use crate::error::DockerError;
use crate::job::container;
use bollard::query_parameters::{
    ListContainersOptions, ListNetworksOptions, ListVolumesOptions, RemoveVolumeOptions,
};
use executor_core::ability::ResumeHandle;
use executor_core::job::JobId;
use fail_point::fail_point;
use futures_util::StreamExt;
use futures_util::stream;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The time limit of a sweep: jobs wait for it.
const DEADLINE: Duration = Duration::from_mins(1);

/// How many objects are removed at once; the engine has other work too.
const AT_ONCE: usize = 8;

/// The names of the objects that a sweep removed, and its failures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepReport {
    /// The removed containers.
    pub containers: Vec<String>,
    /// The removed networks.
    pub networks: Vec<String>,
    /// The removed volumes.
    pub volumes: Vec<String>,
    /// The failures; the next sweep tries again.
    pub failures: Vec<String>,
}

impl SweepReport {
    /// Returns whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The owner of an object in the engine, from its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectOwner<'a> {
    /// The id of the run that created it.
    pub owner: &'a str,
    /// The job.
    pub job: &'a str,
    /// The attempt of that job.
    pub attempt: &'a str,
    /// The name of a container: a warm container has no job in its labels.
    pub name: &'a str,
}

impl<'a> ObjectOwner<'a> {
    /// Reads labels; `None` without an owner.
    fn read(labels: &'a HashMap<String, String>, name: &'a str) -> Option<Self> {
        let value = |key: &str| labels.get(key).map_or("", String::as_str);
        Some(Self {
            owner: labels.get(OWNER)?,
            job: value(JOB_ID),
            attempt: value(ATTEMPT),
            name,
        })
    }

    /// Returns whether it belongs to the job of a resume handle.
    pub fn is_of(&self, handle: &ResumeHandle) -> bool {
        let is = |key: &str, value: &str| handle.fields.get(key).is_some_and(|it| it == value);
        handle.executor == NAME
            && is("owner", self.owner)
            && (is("job", self.job) && is("attempt", self.attempt) || self.has_name_of(handle))
    }

    fn has_name_of(&self, handle: &ResumeHandle) -> bool {
        let number = |key: &str| handle.fields.get(key)?.parse::<u64>().ok();
        let (Some(job), Some(attempt)) = (number("job"), number("attempt")) else {
            return false;
        };
        let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
        self.name == Names::new(self.owner, JobId(job), attempt).build()
    }
}

/// Removes our containers, networks and volumes that are not `needed`, several at once.
///
/// An object is mostly needed because its owner lives. Cache volumes are kept, as are foreign objects. Jobs of living
/// owners may run meanwhile. Objects that are not removed within a minute are failures, left to the next sweep.
///
/// # Errors
///
/// When the engine does not list its objects. Failures of single objects are in the result.
pub async fn sweep(
    engine: &Engine,
    needed: impl Fn(&ObjectOwner<'_>) -> bool,
) -> Result<SweepReport, DockerError> {
    let until = Instant::now() + DEADLINE;
    let dead = |labels: Option<&HashMap<String, String>>, name: &str| {
        let Some(labels) = labels else { return false };
        let kept = labels.get(KEEP).is_some_and(|keep| keep == "true");
        !kept && ObjectOwner::read(labels, name).is_some_and(|belongs| !needed(&belongs))
    };
    let label = vec![format!("{MANAGED}=true")];
    let filters = HashMap::from([("label".to_owned(), label)]);
    let mut swept = SweepReport::default();

    let options = ListContainersOptions {
        all: true,
        filters: Some(filters.clone()),
        ..ListContainersOptions::default()
    };
    let found = engine.api().list_containers(Some(options));
    let found = engine.call("list containers", found).await?.into_iter();
    let found = found.filter_map(|found| {
        let id = found.id?;
        let name = found.names.and_then(|names| names.into_iter().next());
        let name = name.map_or_else(
            || id.clone(),
            |name| name.trim_start_matches('/').to_owned(),
        );
        dead(found.labels.as_ref(), &name).then_some((name, id))
    });
    let remove = |id: String| async move { container::remove(engine, &id).await.map(drop) };
    let removed = remove_all(found.collect(), remove, until).await;
    note(&mut swept.containers, &mut swept.failures, removed);

    let options = ListNetworksOptions {
        filters: Some(filters.clone()),
    };
    let found = engine.api().list_networks(Some(options));
    let found = engine.call("list networks", found).await?.into_iter();
    let found = found.filter(|found| dead(found.labels.as_ref(), ""));
    let found = found.filter_map(|found| {
        let name = found.name?;
        let id = found.id.unwrap_or_else(|| name.clone());
        Some((name, id))
    });
    let remove = |id: String| async move {
        let removed = fail_point!(
            "executor_docker::recovery::remove_network",
            engine.api().remove_network(&id).await
        );
        removed.map_err(|error| DockerError::from_api("remove the object", error))
    };
    let removed = remove_all(found.collect(), remove, until).await;
    note(&mut swept.networks, &mut swept.failures, removed);

    let options = ListVolumesOptions {
        filters: Some(filters),
    };
    let found = engine.api().list_volumes(Some(options));
    let found = engine.call("list volumes", found).await?;
    let found = found.volumes.unwrap_or_default().into_iter();
    let found = found.filter(|found| dead(Some(&found.labels), ""));
    let found = found.map(|found| (found.name.clone(), found.name));
    let remove = |name: String| async move {
        let options = RemoveVolumeOptions { force: true };
        let removed = fail_point!(
            "executor_docker::recovery::remove_volume",
            engine.api().remove_volume(&name, Some(options)).await
        );
        removed.map_err(|error| DockerError::from_api("remove the object", error))
    };
    let removed = remove_all(found.collect(), remove, until).await;
    note(&mut swept.volumes, &mut swept.failures, removed);
    Ok(swept)
}

/// Removes objects, given by name and id, and returns the result of each.
async fn remove_all<R, F>(
    things: Vec<(String, String)>,
    remove: R,
    until: Instant,
) -> Vec<(String, Result<(), DockerError>)>
where
    R: Fn(String) -> F,
    F: Future<Output = Result<(), DockerError>>,
{
    let removals = things.into_iter().map(|(name, id)| {
        let removal = remove(id);
        async move {
            let removed = timeout_at(until, removal).await.unwrap_or_else(|_| {
                Err(DockerError::Deadline {
                    doing: "remove the object".to_owned(),
                    after: DEADLINE,
                })
            });
            (name, removed)
        }
    });
    stream::iter(removals)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

fn note(
    done: &mut Vec<String>,
    failures: &mut Vec<String>,
    removed: Vec<(String, Result<(), DockerError>)>,
) {
    for (name, removed) in removed {
        match removed {
            Ok(()) => done.push(name),
            // It was removed meanwhile.
            Err(error) if error.is_not_found() => {}
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn removals_are_concurrent_and_have_a_deadline() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let things = |count: usize| {
            let names = (0..count).map(|it| it.to_string());
            names.map(|name| (name.clone(), name)).collect::<Vec<_>>()
        };
        let remove = |id: String| {
            let (now, most) = (&now, &most);
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let hangs = id == "7";
                tokio::time::sleep(Duration::from_secs(if hangs { 3600 } else { 1 })).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        };
        let begun = Instant::now();
        let removed = remove_all(things(30), remove, begun + DEADLINE).await;
        assert_eq!(begun.elapsed(), DEADLINE);
        assert_eq!((removed.len(), most.load(Ordering::SeqCst)), (30, AT_ONCE));
        let (mut done, mut failures) = (Vec::new(), Vec::new());
        note(&mut done, &mut failures, removed);
        assert_eq!((done.len(), failures.len()), (29, 1));
        assert!(failures[0].starts_with("7: "), "{failures:?}");
    }

    #[test]
    fn an_object_belongs_to_owner_job_and_attempt() {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let labels = [(OWNER, "3f9c"), (JOB_ID, "7"), (ATTEMPT, "0")];
        let labels = labels.map(|(key, value)| label(key, value)).into();
        let belongs = ObjectOwner::read(&labels, "").expect("it has an owner");
        let check = |executor: &str, owner: &str, job: &str, attempt: &str, expect| {
            let fields = [("owner", owner), ("job", job), ("attempt", attempt)];
            let handle = ResumeHandle {
                executor: executor.to_owned(),
                fields: fields.map(|(key, value)| label(key, value)).into(),
            };
            assert_eq!(belongs.is_of(&handle), expect, "{handle:?}");
        };
        check(NAME, "3f9c", "7", "0", true);
        check(NAME, "3f9c", "7", "1", false);
        check(NAME, "3f9c", "8", "0", false);
        check(NAME, "3f9d", "7", "0", false);
        check("shell", "3f9c", "7", "0", false);
        let labels = [(OWNER.to_owned(), "3f9c".to_owned())].into();
        let belongs = ObjectOwner::read(&labels, "runwright-3f9c-7-0").expect("it has an owner");
        let handle = |job: &str| ResumeHandle {
            executor: NAME.to_owned(),
            fields: [("owner", "3f9c"), ("job", job), ("attempt", "0")]
                .map(|(key, value)| label(key, value))
                .into(),
        };
        assert!(belongs.is_of(&handle("7")), "by its name");
        assert!(!belongs.is_of(&handle("8")));
        assert_eq!(ObjectOwner::read(&HashMap::new(), ""), None);
    }
}
