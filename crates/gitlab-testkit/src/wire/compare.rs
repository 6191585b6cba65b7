//! The comparison of all calls of a runner with a recording.

use super::difference::{Difference, Differences};
use super::fields::Comparison;
use super::recorded::RecordedCall;
use super::sequence::{Aligned, Step, align, split};
use super::template::Bindings;
use crate::{Call, Endpoint};
use serde_json::Value;

/// Compares the calls of a runner with the recorded ones.
pub(super) fn compare(
    expected: &[RecordedCall<'_>],
    infos: &Value,
    found: &[Call],
) -> Vec<Difference> {
    let mut comparison = Comparison {
        infos,
        bindings: Bindings::default(),
        differences: Differences::default(),
    };
    // Jobs that run at the same time call in any order, so several jobs are compared one by one.
    let handed_out = expected.iter().filter(|call| is_hand_out(**call)).count();
    let expected = split(
        expected
            .iter()
            .filter_map(|call| recorded_step(*call))
            .collect(),
        handed_out > 1,
    );
    let mut found_groups = split(
        found.iter().filter_map(found_step).collect(),
        handed_out > 1,
    );
    for (job, steps) in expected {
        let index = found_groups.iter().position(|(known, _)| *known == job);
        let own = index.map_or_else(Vec::new, |index| found_groups.remove(index).1);
        compare_sequences(&steps, &own, &mut comparison);
    }
    for (_, steps) in found_groups {
        compare_sequences(&[], &steps, &mut comparison);
    }
    compare_last_updates(found, &mut comparison.differences);
    comparison.differences.all
}

fn is_hand_out(call: RecordedCall<'_>) -> bool {
    call.endpoint() == "request" && call.status() == 201
}

fn recorded_step(call: RecordedCall<'_>) -> Option<Step<RecordedCall<'_>>> {
    let range = |name| call.check("range_check", name);
    Some(Step {
        endpoint: Endpoint::from_name(call.endpoint())?.name(),
        status: call.status(),
        job: call.job(),
        range: range("first_is_stored_size")
            .zip(range("last_is_first_plus_length_minus_1"))
            .map(|(first, last)| [first, last]),
        call,
    })
}

/// Returns `None` for a call without an answer, such as a job request that is held.
fn found_step(call: &Call) -> Option<Step<&Call>> {
    let range = call.range_check;
    Some(Step {
        endpoint: call.endpoint.name(),
        status: call.status()?,
        job: call.job_id(),
        range: range.map(|it| {
            [
                it.first_is_stored_size,
                it.last_is_first_plus_length_minus_1,
            ]
        }),
        call,
    })
}

fn compare_sequences(
    expected: &[Step<RecordedCall<'_>>],
    found: &[Step<&Call>],
    comparison: &mut Comparison<'_>,
) {
    for aligned in align(expected, found) {
        match aligned {
            Aligned::Missing(index) => {
                let step = &expected[index];
                let kind = format!("missing {} {}", step.endpoint, step.status);
                let text = format!(
                    "call {} of the recording{}",
                    step.call.json["n"],
                    after(expected, index)
                );
                comparison.differences.add(kind, text);
            }
            Aligned::Extra(index) => {
                let step = &found[index];
                let kind = format!("extra {} {}", step.endpoint, step.status);
                let text = format!(
                    "{} {} at {:?}{}",
                    step.call.request.method,
                    step.call.request.path,
                    step.call.at,
                    after(found, index)
                );
                comparison.differences.add(kind, text);
            }
            Aligned::Both(one, other) => {
                let (expected, found) = (&expected[one], &found[other]);
                comparison.compare_call(expected.call, found.call);
                compare_ranges(expected, found, comparison);
            }
        }
    }
}

fn after<T>(steps: &[Step<T>], index: usize) -> String {
    let before = index.checked_sub(1).map(|index| &steps[index]);
    before.map_or_else(String::new, |it| {
        format!(", after {} {}", it.endpoint, it.status)
    })
}

/// Compares the range checks, each of which covers all pieces that were folded into one.
fn compare_ranges(
    expected: &Step<RecordedCall<'_>>,
    found: &Step<&Call>,
    comparison: &mut Comparison<'_>,
) {
    let Some(([first, last], [own_first, own_last])) = expected.range.zip(found.range) else {
        return;
    };
    let pairs = [
        ("first_is_stored_size", first, own_first),
        ("last_is_first_plus_length_minus_1", last, own_last),
    ];
    for (name, expected, found) in pairs {
        if expected != found {
            let text = format!("expected {expected}, found {found}");
            comparison
                .differences
                .add(format!("range_check: {name}"), text);
        }
    }
}

/// Checks that a job request carries `last_update` exactly if the answer before it was a 204, with its value.
fn compare_last_updates(calls: &[Call], differences: &mut Differences) {
    let requests = calls
        .iter()
        .filter(|call| call.endpoint == Endpoint::Request);
    let requests: Vec<&Call> = requests.collect();
    for (index, call) in requests.iter().enumerate() {
        let is_same_runner = |other: &&&Call| other.field("token") == call.field("token");
        let before: Vec<&&Call> = requests[..index].iter().filter(is_same_runner).collect();
        let is_answered = |other: &&&Call| {
            let answer = other.answer.as_ref();
            answer.is_some_and(|answer| answer.at <= call.at)
        };
        // With requests at the same time, the runner decides which answer counts.
        if !before.iter().all(is_answered) {
            continue;
        }
        let answer = before.last().and_then(|call| call.answer.as_ref());
        let answer = answer.filter(|answer| answer.status == 204);
        let expected = answer.and_then(|answer| answer.header("x-gitlab-last-update"));
        let found = call.field("last_update").as_str();
        if expected != found {
            let text = format!("expected {expected:?}, found {found:?}");
            differences.add("request: body last_update", text);
        }
    }
}
