use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::Cancellation;
use steps::StepsClient;

use super::support::{Output, Plan, Served, Way, quick};

/// Writes lines to both streams, some in pieces, and ends with a partial line.
const SCRIPT: &str = r#"
echo x >> started
seq 1 60000 | awk '{ if ($1 % 7) print "out " $1 " abcdefghijklmnopqrstuvwxyz"; else print "err " $1 > "/dev/stderr" }'
printf 'progress\r'; sleep 0.12; printf 'more\rend'
"#;

fn expected() -> (String, String) {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    for line in 1..=60_000 {
        if line % 7 == 0 {
            writeln!(stderr, "err {line}").unwrap();
        } else {
            writeln!(stdout, "out {line} abcdefghijklmnopqrstuvwxyz").unwrap();
        }
    }
    stdout.push_str("progress\rmore\rend");
    (stdout, stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn thousand_cuts_lose_no_output_and_repeat_nothing() {
    // R-STEP-24
    let served = Served::start();
    let (stdout, stderr) = expected();
    let mut cuts = 0;
    let mut number = 0;
    while cuts < 1_000 {
        number += 1;
        let seed = 0x9e37_79b9_7f4a_7c15 ^ (number * 0x1000_0001);
        println!("seed {seed:#x}");
        let way = Arc::new(Way::planned(served.socket(), Plan::Random(seed)));
        let client = StepsClient::new(Arc::clone(&way) as _, quick());
        let mut output = Output::default();
        let run = served.run(&format!("run-{number}"), SCRIPT);
        let ended = client
            .execute(&run, &mut output.sink(), &Cancellation::new())
            .await;
        assert!(ended.unwrap().status.is_success(), "seed {seed:#x}");
        assert!(output.stdout == stdout.as_bytes(), "seed {seed:#x}");
        assert!(output.stderr == stderr.as_bytes(), "seed {seed:#x}");
        cuts += way.cuts.load(Ordering::Relaxed);
    }
    let started = std::fs::read_to_string(served.path("work/started")).unwrap();
    assert_eq!(started.lines().count() as u64, number);
}
