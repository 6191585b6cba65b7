//! The object storage: `GET /store/<file name>`.

use super::{Call, JobServerState};
use crate::answer::Answer;

/// Returns a file, or the part of it that a `Range` header names.
pub(crate) fn answer(state: &JobServerState, call: &Call) -> Result<Answer, Answer> {
    let name = call.request.path.trim_start_matches("/store/");
    let file = state.artifacts.values().find(|file| file.name == name);
    let file = file.ok_or_else(|| Answer::new(404, "application/xml", "<Error/>"))?;
    let dated = |answer: Answer| answer.header("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT");
    let kind = "application/octet-stream";
    let size = file.bytes.len();
    let Some((first, last)) = call.header("range").and_then(|range| part(range, size)) else {
        let answer = Answer::new(200, kind, file.bytes.clone());
        return Ok(dated(answer).header("accept-ranges", "bytes"));
    };
    let answer = Answer::new(206, kind, &file.bytes[first..=last]);
    Ok(dated(answer).header("content-range", format!("bytes {first}-{last}/{size}")))
}

fn part(range: &str, size: usize) -> Option<(usize, usize)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let first: usize = first.parse().ok()?;
    let last = last.parse().unwrap_or(usize::MAX).min(size.checked_sub(1)?);
    (first <= last).then_some((first, last))
}
