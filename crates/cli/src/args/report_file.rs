use scheduler::ReportFormat;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file that tells how a run ended: `FILE`, or `FORMAT=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportFile {
    pub(crate) format: ReportFormat,
    pub(crate) path: PathBuf,
}

impl FromStr for ReportFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text
            .split_once('=')
            .and_then(|(name, path)| Some((ReportFormat::of_name(name)?, path)));
        let (format, path) = match named {
            Some((format, path)) => (Some(format), path),
            None => (ReportFormat::of_file(Path::new(text)), text),
        };
        if path.is_empty() {
            return Err("no file is given; write `--report junit=report.xml`".to_owned());
        }
        if path == "-" {
            return Err("standard output shows the run itself; name a file".to_owned());
        }
        let format = format.ok_or_else(|| {
            let endings = ReportFormat::ALL.map(|format| format!("`.{}`", format.extension()));
            let prefixes = ReportFormat::ALL.map(|format| format!("`{}=`", format.name()));
            format!(
                "its extension is not that of a format: use {}, or put {} before the file",
                endings.join(", "),
                prefixes.join(", ")
            )
        })?;
        Ok(Self {
            format,
            path: path.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_follows_from_its_name_or_the_ending() {
        let check = |text: &str, expect: Option<(ReportFormat, &str)>| {
            let found = text.parse::<ReportFile>().ok();
            let expect = expect.map(|(format, path)| ReportFile {
                format,
                path: path.into(),
            });
            assert_eq!(found, expect, "{text}");
        };
        check("a.xml", Some((ReportFormat::Junit, "a.xml")));
        check("out/a.JSON", Some((ReportFormat::Json, "out/a.JSON")));
        check("a=b.txt", Some((ReportFormat::Text, "a=b.txt")));
        check("junit=a", Some((ReportFormat::Junit, "a")));
        check("text=a.json", Some((ReportFormat::Text, "a.json")));
        check("json=a=b", Some((ReportFormat::Json, "a=b")));
        for text in ["", "a", "a.html", "html=a", "-", "json=-", "json="] {
            check(text, None);
        }
    }
}
