use crate::full_screen::draw::draw;
use crate::full_screen::state::tests::{Run, run};
use crate::full_screen::terminal::Canvas;
use crate::text::Style;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use scheduler::Status;
use std::time::Duration;

fn picture(run: &mut Run, columns: u16, rows: u16) -> Buffer {
    let mut picture = Canvas::picture(columns, rows);
    draw(&mut run.state, &mut picture, run.now);
    picture
}

/// Returns the text of a picture.
fn text(run: &mut Run, columns: u16, rows: u16) -> String {
    let picture = picture(run, columns, rows);
    let rows = picture.content().chunks(usize::from(columns.max(1)));
    let lines = rows.map(|row| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Returns a run with a job in most states.
fn busy() -> Run {
    let mut run = run();
    run.status("compile", Status::Running, 1);
    run.log("compile", "compiling \x1b[31mmain.c\x1b[0m\x1b]0;title\x07");
    run.log("compile", "main.c:3: a line that is far too long for a small screen, which is why it is cut at its end");
    run.ends("lint\x1b[2J", 3, 1);
    run.status("docs", Status::Pending, 1);
    run.status("deploy", Status::Manual, 1);
    run.now = run.begun + Duration::from_secs(65);
    run
}

#[test]
fn a_small_screen_has_a_list_and_a_log() {
    insta::assert_snapshot!(text(&mut busy(), 80, 16), @r#"
    pipeline 1  main  push  running  1:05   1 failed, 1 running, 2 waiting, 1 manual
    build 1/2
     • compile                                           1:05
     ✗ lint                                              0:02
    test 0/2
    ▸  unit-tests
    ─ • compile  1:05 ─────────────────────────────────────────── 2 lines, follows ─
    compiling main.c
    main.c:3: a line that is far too long for a small screen, which is why it is cut






    ? help  q quit  Tab log  r retry  p play  c cancel  s shell  n next failed
    "#);
}

#[test]
fn a_wide_screen_has_columns_and_details() {
    insta::assert_snapshot!(text(&mut busy(), 140, 14), @r#"
    pipeline 1  main  push  running  1:05   1 failed, 1 running, 2 waiting, 1 manual
    build 1/2                           test 0/2                            deploy 0/1
     • compile                     1:05 ▸  unit-tests                        ○ deploy
     ✗ lint                        0:02  · docs
    ─ • compile  1:05 ─────────────────────────────────────────────────────────────────────────────────────────────────────── 2 lines, follows ─
    compiling main.c                                                                                      │ job       compile
    main.c:3: a line that is far too long for a small screen, which is why it is cut at its end           │ stage     build
                                                                                                          │ status    running
                                                                                                          │ time      1m 5s
                                                                                                          │ needed by unit-tests
                                                                                                          │
                                                                                                          │
                                                                                                          │
    ? help  q quit  Tab log  r retry  p play  c cancel  s shell  n next failed  / filter  d details  z zoom
    "#);
}

#[test]
fn the_guide_shows_the_screen() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/book/src/full-screen.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let (_, shown) = page.split_once("```text\n").unwrap();
    let (shown, _) = shown.split_once("\n```").unwrap();
    let rows = u16::try_from(shown.lines().count()).unwrap();
    assert_eq!(text(&mut busy(), 100, rows), shown);
    // Each key of the help is on the page, and no other.
    for line in crate::full_screen::draw::help::lines() {
        for key in [
            "p ", "r ", "C ", "s ", "d ", "z ", "e ", "w ", "m ", "M ", "q ",
        ] {
            if line.trim_start().starts_with(key) {
                assert!(
                    page.contains(&format!("`{}`", key.trim())),
                    "{key} of {line:?}"
                );
            }
        }
    }
}

#[test]
fn a_tiny_screen_shows_one_thing_at_a_time() {
    let mut run = busy();
    insta::assert_snapshot!(text(&mut run, 20, 5), @r#"
    pipeline 1  main  pu
    build 1/2
     • compile     1:05
     ✗ lint        0:02
    ? help  q quit
    "#);
    run.press("\t");
    insta::assert_snapshot!(text(&mut run, 20, 5), @r#"
    pipeline 1  main  pu
    ━ • compile  1:… ━━━
    compiling main.c
    main.c:3: a line tha
    ? help  q quit
    "#);
}

#[test]
fn questions_input_and_notes_are_at_the_bottom() {
    let mut run = busy();
    let last = |run: &mut Run| {
        let text = text(run, 60, 10);
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(
        last(&mut run),
        "? help  q quit  Tab log  r retry  p play  c cancel  s shell"
    );
    run.press("c");
    assert_eq!(last(&mut run), "cancel the job compile? y/n");
    run.press("n/li");
    assert_eq!(last(&mut run), "jobs with: li");
    run.press("\n");
    run.state.tell("a warning\x1b[2J: mind\n");
    assert_eq!(last(&mut run), "a warning: mind");
    run.press("M");
    assert!(text(&mut run, 60, 10).starts_with("Messages\na warning: mind"));
    run.press("\x1b?");
    assert!(text(&mut run, 80, 50).contains("Ctrl-Z         suspend"));
}

#[test]
fn the_zoomed_log_has_nothing_beside_it() {
    let mut run = busy();
    run.press("z");
    let shown = text(&mut run, 80, 10);
    assert!(
        shown.contains("\ncompiling main.c\nmain.c:3: a line"),
        "{shown}"
    );
    run.press("w");
    assert!(
        text(&mut run, 40, 10).contains("\nr a small screen, which is why"),
        "it wraps"
    );
}

#[test]
fn without_colours_nothing_is_coloured_and_every_status_has_its_sign() {
    let mut run = busy();
    run.press("j");
    let picture = picture(&mut run, 120, 20);
    let plain = |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
    assert!(picture.content().iter().all(plain));
    run.state.style = Style::PLAIN;
    let ascii = text(&mut run, 120, 20);
    assert!(ascii.is_ascii(), "{ascii}");
    for sign in ["run", "FAIL", "hand"] {
        assert!(ascii.contains(sign), "{sign} in\n{ascii}");
    }
}

#[test]
fn any_size_is_drawn() {
    let mut run = busy();
    for columns in (0..160).step_by(3) {
        for rows in 0..45 {
            picture(&mut run, columns, rows);
        }
        run.press(
            ["\t", "d", "z", "?", "\x1b", "w", "j", "M", "\x1b"][usize::from(columns / 3) % 9],
        );
    }
    assert!(text(&mut run, 1000, 400).contains("compile"));
}
