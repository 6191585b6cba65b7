use tokio::sync::watch;

/// Blocks the tasks that wait at it until a test opens it. Clones are the same gate.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use executor_testkit::Gate;
///
/// let gate = Gate::new();
/// let door = gate.clone();
/// tokio::join!(gate.passed(), async move { door.open() });
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    /// Returns a closed gate.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the gate is open.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn passed(&self) {
        // It fails only without a sender, and `self` is a sender.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
