use crate::Page;
use tokio::sync::watch;

/// A fault that the server injects instead of its proper response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Responds with this status and its usual body.
    Status(u16),
    /// Responds with this page.
    Page(Page),
    /// Redirects the client to another address.
    Redirect(String),
    /// Closes the connection without a response.
    Close,
    /// Sends a body of this many bytes without announcing its length.
    Long(u64),
    /// Announces a body of this many bytes, sends half of them and closes the connection.
    Cut(u64),
    /// Starts a body and then stalls until the server stops.
    Stall,
}

/// A fault planned for requests to a path.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) path: String,
    /// The number of requests left; `None` means all of them.
    pub(crate) times: Option<usize>,
    pub(crate) plan: Plan,
}

#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Fault(Fault),
    /// Responds properly once the value is true.
    Hold(watch::Receiver<bool>),
}

/// Requests to a path, held until this is released or dropped.
#[derive(Debug)]
pub struct Held {
    pub(crate) release: watch::Sender<bool>,
}

impl Held {
    /// Releases all held requests.
    pub fn release(self) {
        self.release.send_replace(true);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release.send_replace(true);
    }
}

/// Takes the plan for a request from the list and uses up one of its repetitions.
pub(crate) fn take(planned: &mut Vec<Planned>, is_meant: impl Fn(&str) -> bool) -> Option<Plan> {
    let index = planned.iter().position(|one| is_meant(&one.path))?;
    let plan = planned[index].plan.clone();
    if let Some(times) = &mut planned[index].times {
        *times -= 1;
        if *times == 0 {
            planned.remove(index);
        }
    }
    Some(plan)
}
