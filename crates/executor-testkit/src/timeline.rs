use crate::event::Event;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::Notify;

/// The calls of several test doubles, in order.
///
/// Clones share one list: pass the same timeline to a provider, a source and an observer to compare the
/// order of their calls. An event is recorded when its call begins.
///
/// # Examples
///
/// ```
/// use executor_testkit::{Event, Timeline};
///
/// let timeline = Timeline::new();
/// timeline.record(Event::Acquire);
/// timeline.record(Event::Next);
/// timeline.record(Event::Release);
/// assert_eq!(timeline.lines(), ["provider.acquire", "source.next", "provider.release"]);
/// assert_eq!(timeline.lines_of(&["provider."]), ["provider.acquire", "provider.release"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Timeline(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    events: Mutex<Vec<Event>>,
    changed: Notify,
}

impl Timeline {
    /// Returns an empty timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event at the end.
    pub fn record(&self, event: Event) {
        self.0.events.lock().push(event);
        self.0.changed.notify_waiters();
    }

    /// Adds a mark of the test.
    pub fn note(&self, text: impl Into<String>) {
        self.record(Event::Note(text.into()));
    }

    /// Returns the events so far.
    pub fn events(&self) -> Vec<Event> {
        self.0.events.lock().clone()
    }

    /// Returns the texts of the events so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.events.lock().iter().map(Event::to_string).collect()
    }

    /// Returns the texts that begin with one of `prefixes`: `executor(1)`, `source.`.
    pub fn lines_of(&self, prefixes: &[&str]) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| prefixes.iter().any(|prefix| line.starts_with(prefix)));
        lines
    }

    /// Returns the texts, without repetitions in a row.
    ///
    /// A driver may call `shell` any number of times; here consecutive calls appear once.
    pub fn order(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.dedup();
        lines
    }

    /// Returns the number of matching events.
    pub fn count(&self, fits: impl Fn(&Event) -> bool) -> usize {
        self.0
            .events
            .lock()
            .iter()
            .filter(|event| fits(event))
            .count()
    }

    /// Waits for a matching event, which may already be recorded.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn wait_for(&self, fits: impl Fn(&Event) -> bool) {
        loop {
            // Created before the check, so that no event is missed between check and wait.
            let changed = self.0.changed.notified();
            if self.count(&fits) > 0 {
                return;
            }
            changed.await;
        }
    }

    /// Waits for an event with this text, for example `executor(1).run(step_script)`.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn wait_for_line(&self, line: &str) {
        self.wait_for(|event| event.to_string() == line).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wait_sees_past_and_future_events() {
        let timeline = Timeline::new();
        timeline.note("past");
        timeline.wait_for_line("past").await;
        tokio::join!(timeline.wait_for_line("future"), async {
            timeline.note("future");
        });
        assert_eq!(timeline.lines(), ["past", "future"]);
    }

    #[test]
    fn order_shows_repeated_calls_once() {
        let timeline = Timeline::new();
        for text in ["a", "a", "b", "a"] {
            timeline.note(text);
        }
        assert_eq!(timeline.order(), ["a", "b", "a"]);
    }
}
