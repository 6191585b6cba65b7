use super::Phase;
use super::predefined::Values;
use executor_core::job::{DeploymentTier, EnvironmentAction, EnvironmentDefinition};
use executor_core::variable::JobVariable;
use sha2::{Digest, Sha256};

/// The environment of a job, as the source of its variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEnvironment {
    /// Its expanded name.
    pub name: String,
    /// Its URL as written in the file.
    pub url: Option<String>,
    /// The job's action on it (`start`, `stop`, ...).
    pub action: EnvironmentAction,
    /// Its tier.
    pub tier: DeploymentTier,
}

impl JobEnvironment {
    /// Returns the environment of a definition with the expanded name `name`.
    pub fn new(definition: &EnvironmentDefinition, name: String) -> Self {
        let tier = definition.deployment_tier;
        Self {
            url: definition.url.clone(),
            action: definition.action.unwrap_or_default(),
            tier: tier.unwrap_or_else(|| environment_tier(&name)),
            name,
        }
    }

    /// Adds the variables of the environment.
    pub(super) fn add(&self, values: &mut Values) {
        values.add(Phase::Pipeline, "CI_ENVIRONMENT_NAME", self.name.as_str());
        let slug = environment_slug(&self.name);
        values.add(Phase::Pipeline, "CI_ENVIRONMENT_SLUG", slug);
        values.add(Phase::Pipeline, "CI_ENVIRONMENT_ACTION", self.action.word());
        values.add(Phase::Pipeline, "CI_ENVIRONMENT_TIER", self.tier.word());
        if let Some(url) = &self.url {
            // References in it may name the other variables of the environment.
            let url = JobVariable::public("CI_ENVIRONMENT_URL", url.as_str());
            values.push(Phase::Pipeline, url);
        }
    }
}

/// The maximum length of an environment's slug.
const LONGEST: usize = 24;
/// The length of the name's part in a slug with a checksum.
const KEPT: usize = 17;
/// The length of the checksum.
const SUFFIX: u32 = 6;

/// The tiers with the words in environment names that imply them, in the order of the search.
const TIERS: [(DeploymentTier, &[&str]); 4] = [
    (DeploymentTier::Development, &["dev", "review", "trunk"]),
    (
        DeploymentTier::Testing,
        &[
            "test", "tst", "int", "acpt", "accept", "qa", "qc", "control", "quality",
        ],
    ),
    (
        DeploymentTier::Staging,
        &["stg", "stag", "modl", "model", "pre", "demo", "non"],
    ),
    (DeploymentTier::Production, &["prd", "prod", "live"]),
];

/// Returns the tier that an environment's name implies, or `other`.
///
/// # Examples
///
/// ```
/// use pipeline::context::environment_tier;
///
/// assert_eq!(environment_tier("review/new-button").word(), "development");
/// assert_eq!(environment_tier("Production").word(), "production");
/// assert_eq!(environment_tier("blue").word(), "other");
/// ```
pub fn environment_tier(name: &str) -> DeploymentTier {
    let name = name.to_ascii_lowercase();
    let mut tiers = TIERS.iter();
    let found = tiers.find(|(_, words)| words.iter().any(|&word| name.contains(word)));
    found.map_or(DeploymentTier::Other, |(tier, _)| *tier)
}

/// Returns the slug of an environment's name for URLs: at most 24 characters, with a checksum if it
/// differs from the name.
///
/// # Examples
///
/// ```
/// use pipeline::context::environment_slug;
///
/// assert_eq!(environment_slug("production"), "production");
/// assert!(environment_slug("Review/1").starts_with("review-1-"));
/// ```
pub fn environment_slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    let lower = name.to_lowercase();
    if !lower.starts_with(|first: char| first.is_ascii_lowercase()) {
        slug.push_str("env-");
    }
    for letter in lower.chars() {
        let is_plain = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if is_plain || !slug.ends_with('-') {
            slug.push(if is_plain { letter } else { '-' });
        }
    }
    if slug.len() > LONGEST || slug != name {
        slug.truncate(KEPT);
        if !slug.ends_with('-') {
            slug.push('-');
        }
        slug.push_str(&suffix(name));
    }
    slug.trim_end_matches('-').to_owned()
}

/// Returns the last digits of the name's SHA-256 in base 36.
fn suffix(name: &str) -> String {
    let modulus = 36_u64.pow(SUFFIX);
    let step = |rest: u64, byte: &u8| (rest * 256 + u64::from(*byte)) % modulus;
    let mut rest = Sha256::digest(name).iter().fold(0, step);
    let digit = |_| {
        let digit = u32::try_from(rest % 36).unwrap_or(0);
        rest /= 36;
        char::from_digit(digit, 36).unwrap_or('0')
    };
    let backwards: Vec<char> = (0..SUFFIX).map(digit).collect();
    backwards.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_short_and_unique() {
        let check = |name: &str, start: &str, length: usize| {
            let slug = environment_slug(name);
            assert!(slug.starts_with(start), "{name} has the slug {slug}");
            assert_eq!(slug.len(), length, "of {name}: {slug}");
        };
        check("staging-1", "staging-1", 9);
        check("staging-", "staging", 7);
        check("Staging", "staging-", 14);
        check("review/x", "review-x-", 15);
        check("1-prod", "env-1-prod-", 17);
        check("a--b", "a-b-", 10);
        check(&"x".repeat(24), &"x".repeat(24), 24);
        check(&"x".repeat(25), "xxxxxxxxxxxxxxxxx-", 24);
        check("ÄÖ", "env-", 10);
        assert_ne!(environment_slug("review/x"), environment_slug("review.x"));
    }

    #[test]
    fn the_checksum_of_a_slug_is_the_end_of_the_hash_in_base_36() {
        // From `printf %s NAME | sha256sum`, converted to base 36.
        assert_eq!(suffix("review/x"), "n5c54v");
        assert_eq!(suffix("Staging"), "p75vhx");
    }

    #[test]
    fn a_name_implies_a_tier() {
        let check =
            |name: &str, tier: &str| assert_eq!(environment_tier(name).word(), tier, "of {name}");
        check("dev", "development");
        check("QA-2", "testing");
        check("pre-production", "staging");
        check("gprd", "production");
        check("", "other");
    }
}
