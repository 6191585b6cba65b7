use super::ending::{Ending, why};
use super::xml::{XmlWriter, attribute, write_text};
use super::{JobReport, PipelineReport};
use std::io;
use std::time::Duration;

/// Returns a JUnit report: a suite for each stage that has jobs, in it a test case for each job.
///
/// A job that failed and is allowed to is `skipped`: a pipeline that passes has no failure in its report.
pub(super) fn write(report: &PipelineReport) -> String {
    let mut writer = XmlWriter::new_with_indent(Vec::new(), b' ', 2);
    write_all(&mut writer, report).expect("memory takes all that is written to it");
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str(&String::from_utf8_lossy(&writer.into_inner()));
    text.push('\n');
    text
}

fn write_all(writer: &mut XmlWriter, report: &PipelineReport) -> io::Result<()> {
    let mut counts = Counts::default();
    count_pipeline(&mut counts, report);
    let name = format!("pipeline {}", report.id);
    let element = writer.create_element("testsuites");
    let element = element.with_attribute(attribute("name", &name));
    let element = counts
        .attributes()
        .into_iter()
        .fold(element, |element, (key, value)| {
            element.with_attribute(attribute(key, &value))
        });
    let element = element.with_attribute(attribute("time", &time(report.duration)));
    element.write_inner_content(|writer| write_suites(writer, report, ""))?;
    Ok(())
}

/// Writes the suites of a pipeline and of its downstream pipelines, whose names begin with their job.
fn write_suites(writer: &mut XmlWriter, report: &PipelineReport, prefix: &str) -> io::Result<()> {
    for jobs in report.jobs.chunk_by(|one, other| one.stage == other.stage) {
        let Some(first) = jobs.first() else { continue };
        let suite = format!("{prefix}{}", first.stage);
        let mut counts = Counts::default();
        for job in jobs {
            counts.add(job);
        }
        let duration = jobs.iter().map(|job| job.duration).sum();
        let element = writer.create_element("testsuite");
        let element = element.with_attribute(attribute("name", &suite));
        let element = counts
            .attributes()
            .into_iter()
            .fold(element, |element, (key, value)| {
                element.with_attribute(attribute(key, &value))
            });
        let element = element.with_attribute(attribute("time", &time(duration)));
        element.write_inner_content(|writer| {
            jobs.iter()
                .try_for_each(|job| write_job(writer, job, &suite))
        })?;
    }
    for child in &report.children {
        let prefix = format!("{prefix}{}: ", child.job);
        write_suites(writer, &child.report, &prefix)?;
    }
    Ok(())
}

fn write_job(writer: &mut XmlWriter, job: &JobReport, suite: &str) -> io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(attribute("name", &job.name))
        .with_attribute(attribute("classname", suite))
        .with_attribute(attribute("time", &time(job.duration)));
    let ending = Ending::of(job);
    let properties = properties(job);
    if ending == Ending::Passed && properties.is_empty() {
        return element.write_empty().map(|_| ());
    }
    element.write_inner_content(|writer| {
        if !properties.is_empty() {
            let element = writer.create_element("properties");
            element.write_inner_content(|writer| {
                properties.iter().try_for_each(|(name, value)| {
                    let element = writer.create_element("property");
                    let element = element.with_attribute(attribute("name", name));
                    let element = element.with_attribute(attribute("value", value));
                    element.write_empty().map(|_| ())
                })
            })?;
        }
        write_end(writer, job, ending)
    })?;
    Ok(())
}

fn write_end(writer: &mut XmlWriter, job: &JobReport, ending: Ending) -> io::Result<()> {
    let reason = job
        .failure_reason
        .map_or(job.status.as_str(), |reason| reason.as_str());
    let (name, message) = match ending {
        Ending::Passed => return Ok(()),
        Ending::Failed => ("failure", why(job)),
        Ending::Broken => ("error", why(job)),
        Ending::Allowed => ("skipped", format!("allowed to fail: {}", why(job))),
        Ending::NotRun => ("skipped", job.status.as_str().to_owned()),
    };
    let mut element = writer.create_element(name);
    element = element.with_attribute(attribute("message", &message));
    if matches!(ending, Ending::Failed | Ending::Broken) {
        element = element.with_attribute(attribute("type", reason));
    }
    let lines = job.last_lines.join("\n");
    if lines.is_empty() {
        return element.write_empty().map(|_| ());
    }
    element.write_inner_content(|writer| write_text(writer, &lines))?;
    Ok(())
}

/// Returns the properties of a test case.
fn properties(job: &JobReport) -> Vec<(&'static str, String)> {
    let mut properties = Vec::new();
    if job.attempts > 1 {
        properties.push(("attempts", job.attempts.to_string()));
    }
    if let Some(reused) = job.reused {
        properties.push(("reused from pipeline", reused.pipeline.to_string()));
    }
    if let Some(coverage) = job.products.coverage {
        properties.push(("coverage", coverage.to_string()));
    }
    properties
}

fn count_pipeline(counts: &mut Counts, report: &PipelineReport) {
    for job in &report.jobs {
        counts.add(job);
    }
    for child in &report.children {
        count_pipeline(counts, &child.report);
    }
}

#[derive(Debug, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn add(&mut self, job: &JobReport) {
        self.tests += 1;
        match Ending::of(job) {
            Ending::Passed => {}
            Ending::Failed => self.failures += 1,
            Ending::Broken => self.errors += 1,
            Ending::Allowed | Ending::NotRun => self.skipped += 1,
        }
    }

    fn attributes(&self) -> [(&'static str, String); 4] {
        [
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
            ("skipped", self.skipped.to_string()),
        ]
    }
}

fn time(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64())
}
