use super::*;
use executor_core::{FailedTest, TestTotals};
use std::fmt::Write;

fn read(text: &str) -> TestTotals {
    read_junit(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Checks `total failed errors skipped` and the failed tests, each as `suite|class|name|file: message`.
fn check(text: &str, counts: [u64; 4], failures: &[&str]) {
    let totals = read(text);
    let found = [totals.total, totals.failed, totals.errors, totals.skipped];
    assert_eq!(found, counts, "{text}");
    let shown = |test: &FailedTest| {
        let file = test.file.as_deref().unwrap_or("-");
        let FailedTest {
            suite,
            class,
            name,
            message,
            ..
        } = test;
        format!("{suite}|{class}|{name}|{file}: {message}")
    };
    let found: Vec<String> = totals.failures.iter().map(shown).collect();
    assert_eq!(found, failures, "{text}");
}

fn check_refused(text: &str, expect: &str) {
    let error = read_junit(text).expect_err(text);
    let error = error.to_string();
    assert!(error.contains(expect), "{error}\n{text}");
}

#[test]
fn reads_reports_of_common_tools() {
    // pytest
    check(
        r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="0"
        failures="1" skipped="1" tests="3" time="0.045" timestamp="2026-11-21T10:00:00" hostname="h">
        <testcase classname="test_a" name="test_ok" time="0.001" />
        <testcase classname="test_a" name="test_bad" time="0.002"><failure message="assert 1 == 2">def test_bad():
&gt;       assert 1 == 2
E       assert 1 == 2

test_a.py:5: AssertionError</failure></testcase>
        <testcase classname="test_a" name="test_skip" time="0.000"><skipped type="pytest.skip" message="later">test_a.py:7: later</skipped></testcase>
        </testsuite></testsuites>"#,
        [3, 1, 0, 1],
        &[
            "pytest|test_a|test_bad|-: assert 1 == 2\ndef test_bad():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntest_a.py:5: AssertionError",
        ],
    );
    // surefire, also after a retry that helped
    check(
        r#"<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="org.acme.AppTest" time="1,234.5" tests="3" errors="1">
        <properties><property name="java.version" value="21"/></properties>
        <testcase name="fails" classname="org.acme.AppTest" time="1,000.5">
          <error message="boom" type="java.lang.IllegalStateException"><![CDATA[java.lang.IllegalStateException: boom
	at org.acme.App.run(App.java:3)]]></error><system-out><![CDATA[<failure message="not mine"/>]]></system-out>
        </testcase>
        <testcase name="flaky" classname="org.acme.AppTest" time="0.5"><flakyFailure message="once">trace</flakyFailure></testcase>
        <testcase name="ok" classname="org.acme.AppTest" time="nan"/>
        </testsuite>"#,
        [3, 0, 1, 0],
        &[
            "org.acme.AppTest|org.acme.AppTest|fails|-: boom\njava.lang.IllegalStateException: boom\n\tat org.acme.App.run(App.java:3)",
        ],
    );
    // go-junit-report
    check(
        r#"<testsuites tests="2" failures="1"><testsuite name="example.com/m" tests="2" failures="1" errors="0" id="0" hostname="h" skipped="0" time="0.005">
        <testcase name="TestA" classname="example.com/m" time="0.000"></testcase>
        <testcase name="TestB" classname="example.com/m" time="0.000"><failure message="Failed"><![CDATA[    m_test.go:8: want 1 & got 2]]></failure></testcase>
        </testsuite></testsuites>"#,
        [2, 1, 0, 0],
        &["example.com/m|example.com/m|TestB|-: Failed\nm_test.go:8: want 1 & got 2"],
    );
    // jest, with a file
    check(
        r#"<testsuites name="jest tests"><testsuite name="sum" file="src/sum.test.js"><testcase classname="sum adds" name="sum adds" time="0.01">
        <failure>Error: expect(received).toBe(expected)</failure></testcase></testsuite></testsuites>"#,
        [1, 1, 0, 0],
        &["sum|sum adds|sum adds|src/sum.test.js: Error: expect(received).toBe(expected)"],
    );
    // cargo-nextest
    check(
        r#"<testsuites name="nextest-run" tests="1" uuid="x"><testsuite name="demo" tests="1"><testcase name="tests::bad" classname="demo" timestamp="x" time="0.004">
        <failure message="thread &apos;tests::bad&apos; panicked at src/lib.rs:9:9" type="test failure with exit code 101">thread &apos;tests::bad&apos; panicked at src/lib.rs:9:9:
boom</failure><rerunFailure message="again"/><system-out>x</system-out></testcase></testsuite></testsuites>"#,
        [1, 1, 0, 0],
        &["demo|demo|tests::bad|-: thread 'tests::bad' panicked at src/lib.rs:9:9:\nboom"],
    );
    // phpunit: suites in suites, a line
    check(
        r#"<testsuites><testsuite name="all"><testsuite name="Tests\Inner" file="/app/T.php"><testsuite><testcase name="t" class="T" classname="T" file="/app/T.php" line="12">
        <failure type="X">T::t
Failed asserting that 0 is 1.</failure></testcase></testsuite></testsuite><testcase name="outer"/></testsuite></testsuites>"#,
        [2, 1, 0, 0],
        &["Tests\\Inner|T|t|/app/T.php:12: T::t\nFailed asserting that 0 is 1."],
    );
    // gradle
    check(
        r#"<testsuite name="X" tests="1" skipped="1"><properties/><testcase name="a()" classname="X" time="0.0"><skipped/></testcase><system-out><![CDATA[]]></system-out></testsuite>"#,
        [1, 0, 0, 1],
        &[],
    );
}

#[test]
fn valid_times_are_added() {
    let totals = read(
        r#"<testsuite><testcase time="1.5"/><testcase time="1,000"/><testcase time="x"/><testcase time="-3"/><testcase time="inf"/><testcase/></testsuite>"#,
    );
    assert!((totals.seconds - 1001.5).abs() < 1e-9, "{totals:?}");
    assert_eq!(totals.total, 6);
}

#[test]
fn strongest_result_of_a_case_counts() {
    let case = |inner: &str| {
        format!("<testsuite name=\"s\"><testcase name=\"c\">{inner}</testcase></testsuite>")
    };
    let both = r#"<skipped/><error message="e">E</error><failure message="f">F <b>x</b>&#65;</failure><error message="g">G</error>"#;
    check(&case(both), [1, 1, 0, 0], &["s||c|-: f\nF xA"]);
    check(
        &case("<error>E</error><skipped/>"),
        [1, 0, 1, 0],
        &["s||c|-: E"],
    );
    check(
        &case("<failure message=\"a&#10;b\"/>"),
        [1, 1, 0, 0],
        &["s||c|-: a\nb"],
    );
    check(&case("<other><failure/></other>"), [1, 0, 0, 0], &[]);
}

#[test]
fn invalid_report_is_refused_with_its_location() {
    check_refused("", "line 1, column 1: there is no element");
    check_refused("<testsuite>\n  <testcase></testsuite>", "line 2");
    check_refused(
        "<testsuite><testcase/>",
        "the file ends before its last element does",
    );
    check_refused(
        "<html/>",
        "line 1, column 1: `html` is not the root of a JUnit report",
    );
    check_refused(
        "<testsuite/><testsuite/>",
        "line 1, column 13: there is more than one root",
    );
    check_refused(
        "<testsuite>&nbsp;</testsuite>",
        "the entity `&nbsp;` is unknown",
    );
    check_refused("<testsuite name=\"&nbsp;\"/>", "line 1, column 1");
    check_refused("not xml at all", "there is no element");
    check_refused("{\"tests\": 1}", "there is no element");
    check_refused("<testsuite name=x/>", "line 1");
}

#[test]
fn entities_and_depth_are_bounded() {
    let bomb = r#"<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>
<testsuite name="&b;"/>"#;
    check_refused(bomb, "a document type definition is not read");
    let outside = r#"<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>"#;
    check_refused(outside, "a document type definition is not read");
    check_refused(
        &"<testsuite>".repeat(100_000),
        "elements stand more than 200 deep",
    );
    // Not in the square of their number.
    let mut attributes = String::from("<testsuite><testcase");
    for number in 0..100_000 {
        let _ = write!(attributes, " a{number}=\"\"");
    }
    attributes.push_str(" name=\"last\"><failure/></testcase></testsuite>");
    check(&attributes, [1, 1, 0, 0], &["||last|-: "]);
}

#[test]
fn many_and_long_failures_are_counted_and_cut() {
    let long = "x".repeat(1 << 20);
    let case = format!("<testcase name=\"{long}\"><failure>{long}</failure></testcase>");
    let totals = read(&format!("<testsuite>{}</testsuite>", case.repeat(8)));
    assert_eq!(totals.failures.len(), 8);
    assert_eq!(totals.failures[0].name.len(), 1 << 10);
    assert_eq!(totals.failures[0].message.len(), 64 << 10);

    let many = "<testcase><failure/></testcase>".repeat(10_000);
    let totals = read(&format!("<testsuite>{many}</testsuite>"));
    assert_eq!((totals.failed, totals.failures.len()), (10_000, 50));
}

#[test]
fn no_bytes_make_the_reader_panic() {
    // Cuts a report everywhere, and puts each odd character everywhere.
    let report = r#"<?xml version="1.0"?><testsuites><testsuite name="&lt;ä"><testcase name='a' time="1"><failure message="m&#x41;">t<![CDATA[c]]></failure></testcase></testsuite></testsuites>"#;
    assert_eq!(read(report).failed, 1);
    for at in (0..report.len()).filter(|&at| report.is_char_boundary(at)) {
        let (head, tail) = report.split_at(at);
        assert!(at == 0 || read_junit(head).is_err(), "{head}");
        for odd in [
            "<",
            ">",
            "&",
            ";",
            "\"",
            "]]>",
            "<!--",
            "\0",
            "é",
            "<!DOCTYPE a>",
        ] {
            let _ = read_junit(&format!("{head}{odd}{tail}"));
        }
    }
}
