use super::times_line::{Head, JobPlace, Line, RunTimes, VERSION};
use jiff::Timestamp;
use pipeline_insight::forecast::Usual;
use std::collections::HashMap;
use std::time::Duration;

/// How many durations of a job are kept for each place.
pub(super) const KEPT: usize = 20;

/// The last twenty durations of each job of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastTimes {
    /// The oldest first.
    runs: Vec<RunTimes>,
    /// How many lines were damaged; they are ignored.
    pub damaged: usize,
}

/// How long a job took in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobTime {
    /// The run.
    pub run: u64,
    /// When the run ended.
    pub at: Timestamp,
    /// How long the job took.
    pub took: Duration,
}

impl PastTimes {
    /// Returns the content of a file that is damaged as a whole.
    pub(super) fn all_damaged() -> Self {
        Self {
            damaged: 1,
            ..Self::default()
        }
    }

    /// Parses the file. An incomplete last line is ignored.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut past = Self::default();
        let whole = text.iter().rposition(|&byte| byte == b'\n');
        let lines = text[..whole.unwrap_or(0)].split(|&byte| byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(Line::Run(run)) if run.has_known_shape() => past.runs.push(run),
                Ok(Line::Head(Head { v: VERSION, .. })) => {}
                _ => past.damaged += 1,
            }
        }
        past
    }

    /// Returns the text of a compacted file, with the last durations of each job.
    pub(super) fn into_text(mut self) -> Vec<u8> {
        let mut counts: HashMap<(JobPlace, String), usize> = HashMap::new();
        for run in self.runs.iter_mut().rev() {
            let place = &run.place;
            run.jobs.retain(|job, _| {
                let count = counts.entry((place.clone(), job.clone())).or_default();
                *count += 1;
                *count <= KEPT
            });
        }
        self.runs.retain(|run| !run.jobs.is_empty());
        let head = Head {
            v: VERSION,
            lines: self.runs.len(),
        };
        let mut text = serde_json::to_vec(&head).unwrap_or_default();
        text.push(b'\n');
        text.extend(self.runs.iter().flat_map(RunTimes::to_line));
        text
    }

    /// Returns whether there are no durations.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the places where jobs ran, that of the last run first.
    pub fn places(&self) -> Vec<&JobPlace> {
        let mut places: Vec<&JobPlace> = Vec::new();
        for run in self.runs.iter().rev() {
            if !places.contains(&&run.place) {
                places.push(&run.place);
            }
        }
        places
    }

    /// Returns the last durations in a place by job name, the oldest first.
    pub fn of_place(&self, place: &JobPlace) -> HashMap<&str, Vec<JobTime>> {
        let mut times: HashMap<&str, Vec<JobTime>> = HashMap::new();
        for run in self.runs.iter().filter(|run| run.place == *place) {
            for (job, millis) in &run.jobs {
                times.entry(job).or_default().push(JobTime {
                    run: run.run,
                    at: run.at,
                    took: Duration::from_millis(*millis),
                });
            }
        }
        for times in times.values_mut() {
            times.drain(..times.len().saturating_sub(KEPT));
        }
        times
    }

    /// Returns the usual durations in a place, for jobs with enough runs. The run `except` does not count.
    pub fn usual(&self, place: &JobPlace, except: Option<u64>) -> HashMap<String, Usual> {
        let times = self.of_place(place).into_iter();
        let usual = times.filter_map(|(job, times)| {
            let earlier = times.iter().filter(|time| Some(time.run) != except);
            let earlier: Vec<Duration> = earlier.map(|time| time.took).collect();
            Some((job.to_owned(), Usual::of(&earlier)?))
        });
        usual.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn place(in_place: bool) -> JobPlace {
        JobPlace {
            executor: "shell".to_owned(),
            in_place,
            file: None,
        }
    }

    fn run(number: u64, jobs: &[(&str, u64)]) -> RunTimes {
        let jobs = jobs
            .iter()
            .map(|(job, millis)| ((*job).to_owned(), *millis));
        RunTimes::new(number, place(false), jobs.collect())
    }

    fn took(past: &PastTimes, job: &str) -> Vec<(u64, u128)> {
        let times = past.of_place(&place(false)).remove(job).unwrap_or_default();
        let times = times.iter().map(|time| (time.run, time.took.as_millis()));
        times.collect()
    }

    #[test]
    fn incomplete_lines_are_ignored_and_damaged_ones_counted() {
        let check = |text: &str, runs: &[u64], damaged: usize| {
            let past = PastTimes::parse(text.as_bytes());
            let found: Vec<u64> = past.runs.iter().map(|run| run.run).collect();
            assert_eq!((&*found, past.damaged), (runs, damaged), "{text:?}");
        };
        let line = String::from_utf8(run(7, &[("a", 5)]).to_line()).unwrap();
        check("", &[], 0);
        check(&line, &[7], 0);
        check(&line[..line.len() - 1], &[], 0);
        check(&format!("{line}{}", &line[..20]), &[7], 0);
        check(&format!("{}\n{line}", &line[..20]), &[7], 1);
        check(&format!("{line}\u{0}\u{0}\n[]\n{line}"), &[7, 7], 2);
        check(&line.replace("\"v\":1", "\"v\":2"), &[], 1);
        check(&format!("{{\"v\":1,\"tidied\":1}}\n{line}"), &[7], 0);
    }

    #[test]
    fn twenty_durations_of_each_job_are_kept() {
        let mut past = PastTimes::default();
        past.runs.push(run(1, &[("rare", 1), ("often", 1)]));
        past.runs
            .extend((2..=40).map(|number| run(number, &[("often", number)])));
        let in_place = RunTimes::new(41, place(true), BTreeMap::from([("often".to_owned(), 9)]));
        past.runs.push(in_place);
        let tidied = past.clone().into_text();
        let text = String::from_utf8(tidied.clone()).unwrap();
        assert!(text.starts_with("{\"v\":1,\"tidied\":22}\n"), "{text}");
        let tidied = PastTimes::parse(&tidied);
        for past in [&past, &tidied] {
            assert_eq!(took(past, "rare"), [(1, 1)]);
            let often = took(past, "often");
            assert_eq!((often.len(), often[0], often[19]), (20, (21, 21), (40, 40)));
        }
        assert_eq!(tidied.places(), [&place(true), &place(false)]);
    }

    #[test]
    fn usual_durations_leave_out_the_given_run() {
        let mut past = PastTimes::default();
        past.runs
            .extend((1..=3).map(|number| run(number, &[("test", 20_000)])));
        past.runs.push(run(4, &[("test", 90_000), ("new", 1)]));
        let usual = past.usual(&place(false), Some(4));
        assert_eq!(usual["test"].median, Duration::from_secs(20));
        assert_eq!(usual.get("new"), None);
        assert_eq!(past.usual(&place(true), None).len(), 0);
    }
}
