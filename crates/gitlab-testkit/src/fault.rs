use crate::Page;
use tokio::sync::watch;

/// What the server does instead of answering as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It answers with this status and the body that goes with it.
    Status(u16),
    /// It answers with this page.
    Page(Page),
    /// It sends whoever asks to another address.
    Redirect(String),
    /// It closes the connection without an answer.
    Close,
    /// It sends a body of so many bytes, and does not say before how many.
    Long(u64),
    /// It says that the body has so many bytes, sends half of them and closes the connection.
    Cut(u64),
    /// It begins a body and then says nothing more, until it is stopped.
    Stall,
}

/// A fault that waits for the requests to a path.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) path: String,
    /// For how many more requests; forever when there is none.
    pub(crate) times: Option<usize>,
    pub(crate) plan: Plan,
}

#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Fault(Fault),
    /// Answered as it should be, once this is true.
    Hold(watch::Receiver<bool>),
}

/// Requests that are held back until this is released or dropped.
#[derive(Debug)]
pub struct Held {
    pub(crate) release: watch::Sender<bool>,
}

impl Held {
    /// Lets all of them go.
    pub fn release(self) {
        self.release.send_replace(true);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release.send_replace(true);
    }
}

/// Takes the plan for a request out of the list, if there is one.
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
