//! A whole job with services.

use crate::support::runner::{BUSYBOX, Run, job, log_text, settings};
use executor_core::JobVariable;
use executor_core::job::Image;

#[tokio::test(flavor = "multi_thread")]
async fn a_script_finds_ready_services_by_name() {
    // R-EXEC-55, R-EXEC-56, R-EXEC-61
    let run = Run::new(settings());
    let mut job = job(BUSYBOX);
    let mut service = Image::named(BUSYBOX);
    service.alias = Some("web".to_owned());
    let script = "mkdir /www; echo hello > /www/index.html; sleep 1; exec httpd -f -p 8080 -h /www";
    service.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    service.variables = vec![JobVariable::public("RUNWRIGHT_READY_TCP", "8080")];
    job.services = vec![service];
    let mut opened = run.open(job).await;
    assert_eq!(
        run.leftovers().await.len(),
        3,
        "two containers and a network"
    );
    let printed = opened.print("wget -q -O - http://web:8080/").await;
    assert_eq!(printed, "hello\n", "{}", log_text(&opened.trace));
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}
