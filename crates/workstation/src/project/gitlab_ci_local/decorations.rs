use indexmap::IndexMap;

/// gitlab-ci-local's decorations of a job, from the comments above it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decoration {
    /// A description (`# @Description TEXT`).
    pub description: Option<String>,
    /// Whether the job wants the terminal (`# @Interactive`).
    pub is_interactive: bool,
    /// Whether the job wants the ssh agent (`# @InjectSSHAgent`).
    pub injects_ssh_agent: bool,
    /// Whether artifacts of the job stay out of the working tree (`# @NoArtifactsToSource`).
    pub keeps_artifacts: bool,
}

/// The decorations of all jobs in a text.
///
/// They are comments from the first column above the job's name, with only other comments and blank lines in
/// between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decorations {
    by_job: IndexMap<String, Decoration>,
}

impl Decorations {
    /// Reads the comments of a pipeline file.
    pub fn read(text: &str) -> Self {
        let mut by_job = IndexMap::new();
        let mut decoration = Decoration::default();
        for line in text.lines().map(str::trim_end) {
            if let Some(comment) = line.strip_prefix('#') {
                decoration.read_comment(comment);
            } else if line.is_empty() || decoration == Decoration::default() {
                // Most lines.
            } else if let Some(name) = top_level_key(line) {
                by_job.insert(name, std::mem::take(&mut decoration));
            } else {
                decoration = Decoration::default();
            }
        }
        Self { by_job }
    }

    /// Returns the decoration of a job; one of `parallel` has that of the job in the file.
    pub fn of(&self, job: &str) -> Option<&Decoration> {
        self.by_job.get(job).or_else(|| {
            let before_list = job.split_once(": [").map(|(base, _)| base);
            let before_count = job.rsplit_once(' ').and_then(|(base, count)| {
                let is_count = count
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'/');
                is_count.then_some(base)
            });
            self.by_job.get(before_list.or(before_count)?)
        })
    }

    /// Returns notes about decorations that have no effect.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let terminal = "`runwright shell JOB` opens a shell in a job";
        let agent = "jobs on this machine have your SSH agent, containers do not";
        let notes = [
            self.note("@Interactive", terminal, |it| it.is_interactive),
            self.note("@InjectSSHAgent", agent, |it| it.injects_ssh_agent),
        ];
        notes.into_iter().flatten()
    }

    fn note(&self, name: &str, advice: &str, has: fn(&Decoration) -> bool) -> Option<String> {
        let jobs = self.by_job.iter().filter(|(_, it)| has(it));
        let jobs: Vec<String> = jobs.map(|(job, _)| format!("`{job}`")).collect();
        let jobs = (!jobs.is_empty()).then(|| jobs.join(", "))?;
        Some(format!("{name} of {jobs} is ignored: {advice}"))
    }

    /// Adds the decorations of another text, which win.
    pub(crate) fn extend(&mut self, others: Self) {
        self.by_job.extend(others.by_job);
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_job.is_empty()
    }
}

impl Decoration {
    fn read_comment(&mut self, comment: &str) {
        let Some(words) = comment.trim_start().strip_prefix('@') else {
            return;
        };
        let words = words.trim_start();
        let (name, rest) = words.split_once(' ').unwrap_or((words, ""));
        match name.to_ascii_lowercase().as_str() {
            "description" => self.description = Some(rest.trim().to_owned()),
            "interactive" => self.is_interactive = true,
            "injectsshagent" => self.injects_ssh_agent = true,
            "noartifactstosource" => self.keeps_artifacts = true,
            _ => {}
        }
    }
}

/// Returns the key that a line from the first column defines.
fn top_level_key(line: &str) -> Option<String> {
    let quote = line.chars().next().filter(|c| "\"'".contains(*c));
    if let Some(quote) = quote {
        let (name, rest) = line[1..].split_once(quote)?;
        return rest.trim_start().starts_with(':').then(|| name.to_owned());
    }
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    // A colon belongs to the name unless a space or the end follows.
    let ends = |(at, _): &(usize, &str)| {
        let rest = &line[at + 1..];
        rest.is_empty() || rest.starts_with(char::is_whitespace)
    };
    let (at, _) = line.match_indices(':').find(ends)?;
    Some(line[..at].trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_comments_above_a_job() {
        let text = "
# @Description Builds it
# more words
# @NoArtifactsToSource
build: &anchor
  script: make
# @ interactive

\"a: b\":   # here
  script: make
#@InjectSSHAgent
deploy:prod: {script: make}
# @Description lost
  - item
test: {script: make}
";
        let decorations = Decorations::read(text);
        let build = decorations.of("build").expect("decorated");
        assert_eq!(build.description.as_deref(), Some("Builds it"));
        assert!(build.keeps_artifacts && !build.is_interactive);
        assert!(decorations.of("a: b").expect("decorated").is_interactive);
        assert!(
            decorations
                .of("deploy:prod")
                .expect("decorated")
                .injects_ssh_agent
        );
        assert_eq!(decorations.of("test"), None);
        assert!(!decorations.is_empty());
    }

    #[test]
    fn parallel_jobs_have_the_decoration_of_the_job() {
        let decorations = Decorations::read("# @Description d\njob: {script: x}\n");
        for name in ["job", "job 1/3", "job: [a, b]"] {
            assert!(decorations.of(name).is_some(), "{name}");
        }
        assert_eq!(decorations.of("job two"), None);
    }
}
