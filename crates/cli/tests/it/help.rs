//! The help of all commands.

use crate::project::{Done, Project};

/// Returns the help of a command in a terminal of this width.
fn help(project: &Project, words: &[&str], columns: usize) -> String {
    let mut command = project.command(words);
    command.env("COLUMNS", columns.to_string());
    Done::from(command.output().unwrap()).expect_code(0).stdout
}

/// Returns the commands, and the commands below them.
fn commands(project: &Project) -> Vec<Vec<String>> {
    let mut found = vec![vec![]];
    let mut at = 0;
    while at < found.len() {
        let mut words: Vec<&str> = found[at].iter().map(String::as_str).collect();
        words.push("--help");
        let text = help(project, &words, 100);
        let names = text.split_once("Commands:\n").map_or("", |(_, rest)| rest);
        let names = names.lines().take_while(|line| line.starts_with("  "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            let mut command = found[at].clone();
            command.push(name.to_owned());
            found.push(command);
        }
        at += 1;
    }
    found
}

#[test]
fn options_are_grouped_and_footers_are_wrapped_once() {
    let project = Project::empty_directory();
    let commands = commands(&project);
    assert!(commands.len() > 30, "{commands:?}");
    for command in &commands {
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.push("--help");
        let wide = help(&project, &words, 400);
        let (_, options) = wide.split_once("\nOptions:\n").expect("options");
        let options = options
            .lines()
            .take_while(|it| it.starts_with(' ') || it.is_empty());
        let is_option = |line: &str| line.starts_with('-') && !line.starts_with("- ");
        let options = options.filter(|line| is_option(line.trim_start()));
        assert!(options.count() <= 14, "{wide}");
        for columns in [60, 80, 100] {
            let text = help(&project, &words, columns);
            let Some((_, footer)) = text.split_once("\nExamples:\n") else {
                continue;
            };
            if columns >= 80 {
                let (_, unwrapped) = wide.split_once("\nExamples:\n").unwrap();
                let examples = |text: &str| text.lines().take_while(|it| !it.is_empty()).count();
                assert_eq!(examples(footer), examples(unwrapped), "{text}");
            }
            let lines: Vec<&str> = footer.lines().collect();
            for pair in lines.windows(2) {
                let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
                if !is_prose(pair[0]) || !is_prose(pair[1]) || pair[0].ends_with(':') {
                    continue;
                }
                let next = pair[1].split(' ').next().unwrap();
                let joined = pair[0].chars().count() + 1 + next.chars().count();
                assert!(joined > columns, "{columns}: {:?}\n{text}", pair[0]);
            }
        }
    }
}

#[test]
fn short_help_leaves_rare_options_to_the_long_one() {
    let project = Project::empty_directory();
    for command in ["run", "watch", "shell", "plan", "lint"] {
        let short = help(&project, &[command, "-h"], 100);
        let long = help(&project, &[command, "--help"], 100);
        assert!(
            short.lines().count() < 90 && !short.contains("--variables-file"),
            "{short}"
        );
        assert!(long.contains("--variables-file"), "{long}");
    }
}
