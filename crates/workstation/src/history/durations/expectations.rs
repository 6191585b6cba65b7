use super::durations::Durations;
use super::line::JobPlace;
use pipeline::Plan;
use pipeline_insight::forecast::{Forecast, Usual};
use std::collections::HashMap;
use std::num::NonZeroU32;

/// What is to be expected of a run.
#[derive(Debug, Clone)]
pub struct Expectations {
    usual: HashMap<String, Usual>,
    workers: NonZeroU32,
    notes: Vec<String>,
}

impl Expectations {
    /// Reads what is usual in a place; `workers` is how many jobs run at once.
    pub fn read(durations: &Durations, place: &JobPlace, workers: NonZeroU32) -> Self {
        Self::of_place(durations, Some(place), workers)
    }

    /// Reads what is usual where the last run was.
    pub fn of_last_place(durations: &Durations, workers: NonZeroU32) -> Self {
        Self::of_place(durations, None, workers)
    }

    fn of_place(durations: &Durations, place: Option<&JobPlace>, workers: NonZeroU32) -> Self {
        let mut notes = Vec::new();
        let path = durations.path();
        let usual = match durations.read() {
            Ok(past) => {
                if past.damaged > 0 {
                    notes.push(format!(
                        "some of the times of jobs in {} could not be read and are forgotten",
                        path.display()
                    ));
                }
                let place = place.or_else(|| past.places().first().copied());
                place.map_or_else(HashMap::new, |place| past.usual(place, None))
            }
            Err(error) => {
                notes.push(format!(
                    "how long jobs usually take cannot be read from {}: {error}",
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

    /// Returns how long a job usually takes, if that is known.
    pub fn usual(&self, job: &str) -> Option<&Usual> {
        self.usual.get(job)
    }

    /// Returns what is to be said about it, a line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the forecast of a plan.
    pub fn forecast(&self, plan: &Plan) -> Forecast {
        Forecast::new(plan, self.workers, |job| Some(self.usual.get(job)?.median))
    }
}
