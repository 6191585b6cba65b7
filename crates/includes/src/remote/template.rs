//! Templates of GitLab.

use super::errors::failed;
use super::finder::Finder;
use super::remote_file::shown;
use crate::Question;
use pipeline::include::{FileHome, IncludeError, IncludeFailure, IncludedFile};
use web::Url;

/// The suffix of all template names.
const SUFFIX: &str = ".gitlab-ci.yml";

impl Finder {
    /// Returns a template.
    pub(super) async fn template(&self, name: &str) -> Result<IncludedFile, IncludeError> {
        let url = address(&self.settings.templates, name)?;
        let name = name.to_owned();
        let question = Question::Template {
            name: name.clone(),
            url,
        };
        let text = self.asker.text(question).await?;
        Ok(IncludedFile {
            name,
            text: text.ok_or_else(|| self.no_template())?.into(),
            home: FileHome::NoProject,
            component: Vec::new(),
        })
    }

    fn no_template(&self) -> IncludeError {
        let templates = shown(&self.settings.templates);
        IncludeError::Failed {
            kind: IncludeFailure::Missing,
            reason: "there is no template of this name".to_owned(),
            help: Some(format!(
                "the names are paths below {templates}, and case matters"
            )),
        }
    }
}

/// Returns the address of a template.
fn address(templates: &Url, name: &str) -> Result<Url, IncludeError> {
    let refuse = |reason| {
        let help = "expected a name such as `Jobs/Build.gitlab-ci.yml`";
        failed(IncludeFailure::Invalid, reason, help)
    };
    if !name.ends_with(SUFFIX) {
        return Err(refuse("the name does not end with `.gitlab-ci.yml`"));
    }
    let is_part = |part: &str| {
        let is_bad = |character: char| character.is_control() || character == '\\';
        !matches!(part, "" | "." | "..") && !part.contains(is_bad)
    };
    if !name.split('/').all(is_part) {
        return Err(refuse("the name leads out of the templates"));
    }
    let mut url = templates.clone();
    {
        let parts = url.path_segments_mut();
        let mut parts =
            parts.map_err(|()| refuse("the address of the templates cannot have paths"))?;
        parts.pop_if_empty().extend(name.split('/'));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::settings::TEMPLATES;

    #[test]
    fn name_is_a_path_below_the_templates() {
        let check = |base: &str, name: &str, expect: Result<&str, &str>| {
            let base = Url::parse(base).expect("an address");
            match (address(&base, name), expect) {
                (Ok(url), Ok(expect)) => assert_eq!(url.as_str(), expect, "{name}"),
                (Err(error), Err(reason)) => {
                    let error = error.to_string();
                    assert!(error.contains(reason), "{name}: {error}");
                }
                (found, _) => panic!("{name}: {found:?}"),
            }
        };
        let sast = format!("{TEMPLATES}Jobs/SAST.gitlab-ci.yml");
        check(TEMPLATES, "Jobs/SAST.gitlab-ci.yml", Ok(&sast));
        check(
            "https://h/t",
            "C++.gitlab-ci.yml",
            Ok("https://h/t/C++.gitlab-ci.yml"),
        );
        check(
            "https://h/t/",
            "a b?x#%2e.gitlab-ci.yml",
            Ok("https://h/t/a%20b%3Fx%23%252e.gitlab-ci.yml"),
        );
        check(TEMPLATES, "Go.yml", Err("does not end with"));
        for bad in ["../x", "a/../../x", "/x", "a//x", "./x", "a\\..\\x", "a\nx"] {
            let name = format!("{bad}.gitlab-ci.yml");
            check(TEMPLATES, &name, Err("leads out"));
        }
    }
}
