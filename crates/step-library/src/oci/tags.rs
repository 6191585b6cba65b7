use semver::Version;

/// Returns the tags of a version: its own, those of its minor and major version, and `latest`, except those that belong to a
/// later version. A pre-release has only its own.
pub(super) fn tags(version: &Version, published: &[String]) -> Vec<String> {
    let mut tags = vec![version.to_string()];
    if !version.pre.is_empty() {
        return tags;
    }
    let parsed = published.iter().filter_map(|tag| Version::parse(tag).ok());
    let later: Vec<Version> = parsed
        .filter(|it| it.pre.is_empty() && it > version)
        .collect();
    let (major, minor) = (version.major, version.minor);
    if !later
        .iter()
        .any(|it| (it.major, it.minor) == (major, minor))
    {
        tags.push(format!("{major}.{minor}"));
    }
    if !later.iter().any(|it| it.major == major) {
        tags.push(major.to_string());
    }
    if later.is_empty() {
        tags.push("latest".to_owned());
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_move_to_later_versions_only() {
        let check = |version: &str, published: &[&str], expect: &[&str]| {
            let published: Vec<String> = published.iter().map(|&it| it.to_owned()).collect();
            let version = Version::parse(version).unwrap();
            assert_eq!(
                tags(&version, &published),
                expect,
                "{version} {published:?}"
            );
        };
        check("1.2.3", &[], &["1.2.3", "1.2", "1", "latest"]);
        check(
            "1.2.3",
            &["1.2.3", "latest", "1", "main"],
            &["1.2.3", "1.2", "1", "latest"],
        );
        check("1.2.3", &["1.2.4"], &["1.2.3"]);
        check("1.2.3", &["1.3.0"], &["1.2.3", "1.2"]);
        check("1.2.3", &["2.0.0"], &["1.2.3", "1.2", "1"]);
        check("1.10.0", &["1.9.0"], &["1.10.0", "1.10", "1", "latest"]);
        check("1.2.3", &["2.0.0-rc.1"], &["1.2.3", "1.2", "1", "latest"]);
        check("2.0.0-rc.1", &["1.0.0"], &["2.0.0-rc.1"]);
        check("0.1.0", &["0.2.0"], &["0.1.0", "0.1"]);
    }
}
