//! Pipeline files that a GitLab merged.

mod diagnostics;
mod fields;
mod overlays;
mod round_trip;

use executor_core::job::Need;
use pipeline::merged::{MergedJob, ServerReading};
use pipeline::{Checked, LoadOptions, Pipeline};
use serde_json::Value;

const OWN: &str = include_str!("../../data/lint/own.yml");
const STATIC: &str = include_str!("../../data/lint/static.json");
const DRY_RUN: &str = include_str!("../../data/lint/dry_run.json");
const INVALID: &str = include_str!("../../data/lint/invalid.json");

/// A response of the lint.
struct Answer {
    merged: Option<String>,
    jobs: Vec<MergedJob>,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Answer {
    fn of(json: &str) -> Self {
        let answer: Value = serde_json::from_str(json).unwrap();
        let texts = |key: &str| {
            let texts = answer[key].as_array().unwrap().iter();
            texts
                .map(|text| text.as_str().unwrap().to_owned())
                .collect()
        };
        Self {
            merged: answer["merged_yaml"].as_str().map(ToOwned::to_owned),
            jobs: answer["jobs"].as_array().unwrap().iter().map(job).collect(),
            errors: texts("errors"),
            warnings: texts("warnings"),
        }
    }

    fn of_text(merged: &str) -> Self {
        Self {
            merged: Some(merged.to_owned()),
            jobs: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn read(&self, own: &str, options: &LoadOptions<'_>) -> Checked<Pipeline> {
        let reading = ServerReading {
            server: "gitlab.example.com",
            merged: self.merged.as_deref(),
            jobs: &self.jobs,
            errors: &self.errors,
            warnings: &self.warnings,
        };
        Pipeline::from_merged(".gitlab-ci.yml", own, &reading, options)
    }
}

fn job(job: &Value) -> MergedJob {
    let need = |need: &Value| Need {
        job: need["name"].as_str().unwrap().to_owned(),
        artifacts: need["artifacts"].as_bool().unwrap(),
        optional: need["optional"].as_bool().unwrap(),
    };
    let needs = job["needs"].as_array();
    MergedJob {
        name: job["name"].as_str().unwrap().to_owned(),
        needs: needs.map(|needs| needs.iter().map(need).collect()),
    }
}
