use super::durations::Durations;
use super::past_times::PastTimes;
use super::times_line::JobPlace;
use crate::project::local_project::LocalProject;
use pipeline::Plan;
use pipeline_insight::forecast::{Forecast, Usual};
use std::collections::HashMap;
use std::num::NonZeroU32;

/// How long the jobs of a run should take, by earlier runs.
#[derive(Debug, Clone)]
pub struct Expectations {
    usual: HashMap<String, Usual>,
    workers: NonZeroU32,
    notes: Vec<String>,
}

impl Expectations {
    /// Reads the usual durations in a place; `workers` is how many jobs run at once.
    pub fn read(durations: &Durations, place: &JobPlace, workers: NonZeroU32) -> Self {
        Self::of_place(durations, workers, |_| Some(place.clone()))
    }

    /// Reads the usual durations in the place of the last run of the project's pipeline file.
    pub fn of_last_place(
        durations: &Durations,
        project: &LocalProject,
        workers: NonZeroU32,
    ) -> Self {
        let file = JobPlace::file_of(project);
        Self::of_place(durations, workers, |past| {
            let mut places = past.places().into_iter();
            places.find(|place| place.file == file).cloned()
        })
    }

    fn of_place(
        durations: &Durations,
        workers: NonZeroU32,
        place: impl FnOnce(&PastTimes) -> Option<JobPlace>,
    ) -> Self {
        let mut notes = Vec::new();
        let path = durations.path();
        let usual = match durations.read() {
            Ok(past) => {
                if past.damaged > 0 {
                    notes.push(format!(
                        "some durations of jobs in {} were damaged and are removed",
                        path.display()
                    ));
                }
                place(&past).map_or_else(HashMap::new, |place| past.usual(&place, None))
            }
            Err(error) => {
                notes.push(format!(
                    "the durations of jobs cannot be read from {}: {error}",
                    path.display()
                ));
                HashMap::new()
            }
        };
        Self {
            usual,
            workers,
            notes,
        }
    }

    /// Returns how long a job usually takes, if known.
    pub fn usual(&self, job: &str) -> Option<&Usual> {
        self.usual.get(job)
    }

    /// Returns notes for the user, a line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the forecast of a plan.
    pub fn forecast(&self, plan: &Plan) -> Forecast {
        Forecast::new(plan, self.workers, |job| Some(self.usual.get(job)?.median))
    }
}
