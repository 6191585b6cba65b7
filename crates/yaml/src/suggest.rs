//! "Did you mean ...?": the known name most similar to a mistyped one.

/// Returns the candidate most similar to `word`, if one is similar enough.
///
/// One edit for each three characters is allowed, but at least one; a change of case counts half.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word: Vec<char> = word.chars().take(LONGEST).collect();
    let limit = 2 * (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate, limit), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Returns "did you mean ...?" with the candidate most similar to `word`, if one is similar enough.
pub fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<String> {
    nearest(word, candidates).map(|name| format!("did you mean `{name}`?"))
}

/// Returns the first names of a list, `most` at most, and how many more there are: `a, b and 3 more`.
pub fn first_names<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let first: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let first = first.join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The number of characters compared in long names.
const LONGEST: usize = 255;

/// Returns the edit distance: insertions, removals, replacements and transpositions cost 2, a
/// change of case costs 1. The result is not exact above `limit`.
fn distance(word: &[char], candidate: &str, limit: usize) -> usize {
    let other: Vec<char> = candidate.chars().take(LONGEST).collect();
    if 2 * word.len().abs_diff(other.len()) > limit {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).map(|at| 2 * at).collect();
    for (i, &a) in word.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(2 * (i + 1));
        for (j, &b) in other.iter().enumerate() {
            let replace = row[j] + replacement(a, b);
            let mut best = replace.min(row[j + 1] + 2).min(next[j] + 2);
            if i > 0 && j > 0 && a == other[j - 1] && word[i - 1] == b && a != b {
                best = best.min(before[j - 1] + 2);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

fn replacement(a: char, b: char) -> usize {
    if a == b {
        0
    } else if a.eq_ignore_ascii_case(&b) {
        1
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expect: Option<&str>) {
        let known = ["script", "stage", "build", "build-docs", "Test"];
        assert_eq!(nearest(word, known), expect, "nearest to {word:?}");
    }

    #[test]
    fn only_similar_names_are_suggested() {
        check("scirpt", Some("script"));
        check("scripts", Some("script"));
        check("biuld", Some("build"));
        check("build-dosc", Some("build-docs"));
        check("test", Some("Test"));
        check("deploy", None);
        check("", None);
        check("x", None);
    }

    #[test]
    fn long_lists_of_names_end_with_a_count() {
        assert_eq!(first_names(&["a", "b"], 2), "a, b");
        assert_eq!(first_names(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(first_names::<&str>(&[], 2), "");
    }
}
