use super::value_reader::ValueReader;
use pipeline::context::{ExternalVariable, Level};
use pipeline::{Diagnostic, Diagnostics};
use std::path::Path;
use yaml::diagnostic::Checked;
use yaml::{Mapping, Node, load_values};

/// The user's variables for many projects, in the sections `global`, `group` and `project`. The last two are by
/// URL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HomeFile<'a> {
    /// Its name in messages.
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    /// The directory for `~`.
    pub(crate) home: Option<&'a Path>,
    /// The current project, as `host/group/project`; `None` without a remote.
    pub(crate) project: Option<&'a str>,
}

impl HomeFile<'_> {
    /// Parses the variables of the project, lowest precedence first.
    pub(crate) fn read(self) -> Checked<Vec<ExternalVariable>> {
        load_values(self.name, self.text).and_then(|root, diagnostics| {
            if root.is_null() {
                return Some(Vec::new());
            }
            let Some(sections) = root.as_mapping() else {
                let message = format!(
                    "{} is a hash of `global`, `group` and `project`, not {}",
                    self.name,
                    root.kind_name()
                );
                diagnostics.push(Diagnostic::error("invalid-variable", message).at(root.span));
                return None;
            };
            warn_of_unknown(sections, diagnostics);
            let mut variables = Vec::new();
            if let Some(global) = root.get("global") {
                variables.extend(self.read_hash(global, Level::Instance, diagnostics));
            }
            for (section, level) in [("group", Level::Group), ("project", Level::Project)] {
                for hash in self.matching(&root, section, level) {
                    variables.extend(self.read_hash(hash, level, diagnostics));
                }
            }
            Some(variables)
        })
    }

    /// Returns the hashes of a section for the project, the more specific ones last.
    fn matching<'n>(&self, root: &'n Node, section: &str, level: Level) -> Vec<&'n Node> {
        let entries = root.get(section).and_then(|section| section.as_mapping());
        let (Some(entries), Some(project)) = (entries, self.project) else {
            return Vec::new();
        };
        let mut matching: Vec<(usize, &Node)> = Vec::new();
        for (key, entry) in entries {
            let path = host_path(key);
            let is_match = match level {
                Level::Project => path.eq_ignore_ascii_case(project),
                _ => is_below(project, &path),
            };
            if is_match {
                matching.push((path.len(), &entry.value));
            }
        }
        matching.sort_by_key(|(length, _)| *length);
        matching.into_iter().map(|(_, node)| node).collect()
    }

    fn read_hash(
        &self,
        node: &Node,
        level: Level,
        diagnostics: &mut Diagnostics,
    ) -> Vec<ExternalVariable> {
        let mut reader = ValueReader {
            file: self.name,
            level,
            home: self.home,
            root: None,
            diagnostics,
            variables: Vec::new(),
        };
        reader.read_hash(node);
        reader.variables
    }
}

/// Returns a key of the file as `host/group/project`, also from `gitlab.com:group/project.git`.
fn host_path(key: &str) -> String {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let rest = rest.trim_matches('/');
    let rest = rest.strip_suffix(".git").unwrap_or(rest);
    match rest.split_once(':') {
        // A port belongs to the host.
        Some((host, path)) if !path.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{host}/{}", path.trim_start_matches('/'))
        }
        _ => rest.to_owned(),
    }
}

/// Returns whether a project is in a group or a subgroup of it.
fn is_below(project: &str, group: &str) -> bool {
    let (project, group) = (project.to_ascii_lowercase(), group.to_ascii_lowercase());
    let rest = project.strip_prefix(&group);
    !group.is_empty() && rest.is_some_and(|rest| rest.starts_with('/'))
}

fn warn_of_unknown(sections: &Mapping, diagnostics: &mut Diagnostics) {
    for (name, entry) in sections {
        if !["global", "group", "project"].contains(&&**name) {
            let message = format!("unknown section {name}");
            let help = "expected global, group or project".to_owned();
            let warning = Diagnostic::warning("unknown-section", message).at(entry.key_span);
            diagnostics.push(warning.with_help(help));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(project: &str, expect: &[(&str, &str)]) {
        let text = "
project:
  gitlab.com/grp/sub/app.git: {A: project, P: 1}
  gitlab.com:grp/other.git: {A: other}
group:
  gitlab.com/grp/sub/: {A: sub, G: sub}
  gitlab.com/grp: {G: grp, H: grp}
global: {A: global, Z: '0'}
";
        let file = HomeFile {
            name: "v.yml",
            text,
            home: None,
            project: Some(project),
        };
        let (mut variables, _) = file.read().into_result().expect("no errors");
        variables.sort_by_key(|given| given.level);
        let pairs: Vec<(&str, &str)> = variables
            .iter()
            .map(|given| (given.variable.key.as_str(), given.variable.value.as_str()))
            .collect();
        assert_eq!(pairs, expect, "of {project}");
    }

    #[test]
    fn sections_apply_from_global_to_project() {
        check(
            "gitlab.com/grp/sub/app",
            &[
                ("A", "global"),
                ("Z", "0"),
                ("G", "grp"),
                ("H", "grp"),
                ("A", "sub"),
                ("G", "sub"),
                ("A", "project"),
                ("P", "1"),
            ],
        );
        check(
            "gitlab.com/grp/other",
            &[
                ("A", "global"),
                ("Z", "0"),
                ("G", "grp"),
                ("H", "grp"),
                ("A", "other"),
            ],
        );
        // A part of a longer path is another group.
        check(
            "gitlab.com/x/gitlab.com/grp/app",
            &[("A", "global"), ("Z", "0")],
        );
        check("gitlab.com/grpx/app", &[("A", "global"), ("Z", "0")]);
    }

    #[test]
    fn keys_have_several_forms() {
        assert_eq!(host_path("git@host:g/p.git"), "host/g/p");
        assert_eq!(host_path("https://host:8080/g/p.git"), "host:8080/g/p");
        assert_eq!(host_path("host/g/"), "host/g");
    }
}
