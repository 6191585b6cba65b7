//! Texts of scripts.

use crate::conformance::check::Outcome;
use crate::conformance::session::Session;
use crate::conformance::suite::Suite;
use std::fmt::Write;
use std::sync::Arc;

async fn check(suite: &Arc<Suite>, script: &str, expect: &str) -> Outcome {
    let mut session = Session::open(suite).await?;
    let outcome = session.expect(script, expect).await;
    session.end(outcome).await
}

pub(in super::super) async fn multi_line_script(suite: Arc<Suite>) -> Outcome {
    let script = "\
greet() {
  echo \"hello, $1\"
}

for who in \"a b\" 'c'; do
  greet \"$who\"
done
cat <<'END'
  as it is: $HOME `id` \\ \"quoted\"
END
# A comment with an ' in it.
if [ 1 = 2 ]; then echo wrong; else
\techo 'two
lines'; fi
echo no newline at the end";
    let expect = "hello, a b\nhello, c\n  as it is: $HOME `id` \\ \"quoted\"\ntwo\nlines\n\
                  no newline at the end\n";
    check(&suite, script, expect).await
}

pub(in super::super) async fn unicode_script(suite: Arc<Suite>) -> Outcome {
    let text = "größe 日本語 🦀 ﷽ e\u{301}";
    check(
        &suite,
        &format!("# {text}\necho '{text}'"),
        &format!("{text}\n"),
    )
    .await
}

/// A script longer than any argument of a command may be.
pub(in super::super) async fn long_script(suite: Arc<Suite>) -> Outcome {
    let mut script = String::new();
    for number in 0..8000 {
        // Writing to a string cannot fail.
        let _ = writeln!(script, "total=$((total + {number})) # {}", "-".repeat(40));
    }
    script.push_str("echo $total\n");
    check(&suite, &script, "31996000\n").await
}

pub(in super::super) async fn empty_script(suite: Arc<Suite>) -> Outcome {
    check(&suite, "", "").await?;
    check(&suite, "\n# nothing\n", "").await
}
