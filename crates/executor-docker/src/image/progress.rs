use bollard::models::CreateImageInfo;
use std::collections::HashMap;
use std::fmt;

/// The progress of a pull.
#[derive(Debug, Default)]
pub(crate) struct PullProgress {
    layers: HashMap<String, Layer>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Layer {
    done: bool,
    bytes: u64,
    total: u64,
}

impl PullProgress {
    /// Updates the progress from the next message.
    pub(crate) fn note(&mut self, step: &CreateImageInfo) {
        let status = step.status.as_deref().unwrap_or_default();
        // The first message has the tag in place of a layer.
        let is_layer = !status.starts_with("Pulling from");
        let Some(id) = step.id.as_ref().filter(|_| is_layer) else {
            return;
        };
        let layer = self.layers.entry(id.clone()).or_default();
        layer.done |= matches!(status, "Pull complete" | "Already exists");
        let detail = step.progress_detail.as_ref();
        let count = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        let current = detail.and_then(|detail| count(detail.current));
        let total = detail.and_then(|detail| count(detail.total));
        if let (Some(current), Some(total)) = (current, total)
            && status.starts_with("Downloading")
        {
            layer.bytes = current;
            layer.total = total;
        }
        if matches!(status, "Download complete" | "Pull complete") {
            layer.bytes = layer.total;
        }
    }
}

impl fmt::Display for PullProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.layers.values().filter(|layer| layer.done).count();
        let bytes: u64 = self.layers.values().map(|layer| layer.bytes).sum();
        let total: u64 = self.layers.values().map(|layer| layer.total).sum();
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        write!(
            f,
            "{done} of {} layers, {} of {} MB",
            self.layers.len(),
            megabytes(bytes),
            megabytes(total)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::ProgressDetail;

    #[test]
    fn layers_and_bytes_are_counted() {
        let mut progress = PullProgress::default();
        let mut step = |id: &str, status: &str, detail: Option<(i64, i64)>| {
            progress.note(&CreateImageInfo {
                id: Some(id.to_owned()),
                status: Some(status.to_owned()),
                progress_detail: detail.map(|(current, total)| ProgressDetail {
                    current: Some(current),
                    total: Some(total),
                }),
                ..CreateImageInfo::default()
            });
        };
        step("1.2", "Pulling from team/app", None);
        step("a", "Already exists", None);
        step("b", "Downloading", Some((1_000_000, 9_000_000)));
        step("c", "Downloading", Some((-1, -1)));
        step("b", "Downloading", Some((3_000_000, 9_000_000)));
        step("b", "Extracting", Some((5, 9_000_000)));
        assert_eq!(progress.to_string(), "1 of 3 layers, 3 of 9 MB");
    }
}
