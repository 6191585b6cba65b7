//! Checks of variables passed in files.

use crate::conformance::check::{Outcome, ensure};
use crate::conformance::checks::variables::ensure_variables;
use crate::conformance::session::Session;
use crate::conformance::suite::Suite;
use std::sync::Arc;

fn contents() -> Vec<(&'static str, Vec<u8>)> {
    // A sequence with a long period, so that a lost or repeated block is detected.
    let mut state: u32 = 1;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    vec![
        ("PLAIN", b"no newline at the end".to_vec()),
        ("NEWLINES", b"one\ntwo\n\n".to_vec()),
        ("CARRIAGE", b"one\r\ntwo\r\n".to_vec()),
        ("EMPTY", Vec::new()),
        ("BINARY", (0..=255).cycle().take(1024).collect()),
        (
            "SCRIPTLIKE",
            b"$HOME `id` $(id) 'x' \"y\"\nEOF\nEND\n".to_vec(),
        ),
        ("LARGE", noise.take(1024 * 1024).collect()),
    ]
}

/// The file at the variable's path has the exact content.
pub(in super::super) async fn file_variables(suite: Arc<Suite>) -> Outcome {
    ensure_variables(&suite)?;
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        for (key, content) in contents() {
            let command = session.command(format!("cat \"${key}\""));
            let printed = session.print(command.file(key, content.clone())).await?;
            ensure!(
                printed == content,
                "the file {key} of {} bytes arrived with {}, or others",
                content.len(),
                printed.len()
            );
        }
        let command = session.command("printf %s \"$PLAIN\"").file("PLAIN", *b"x");
        let printed = session.print(command).await?;
        let path = format!("{}/PLAIN", session.dirs().temp_dir);
        ensure!(
            printed == path.as_bytes(),
            "the variable should be {path:?} and is {:?}",
            String::from_utf8_lossy(&printed)
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// Other users of the machine cannot read the files.
pub(in super::super) async fn file_variables_are_private(suite: Arc<Suite>) -> Outcome {
    ensure_variables(&suite)?;
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let command = session.command("ls -ldL \"$KEY\"").file("KEY", *b"secret");
        let printed = session.print(command).await?;
        let listing = String::from_utf8_lossy(&printed);
        let others = listing.get(4..10).unwrap_or_default();
        ensure!(
            others == "------",
            "other users have permissions: {listing:?}"
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}
