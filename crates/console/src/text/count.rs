use scheduler::Status;

/// Returns a number with its noun, which is one of many unless it is one.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// Returns how many jobs came to which end, by whether their failure is allowed: `3 success, 1 failed,
/// 1 allowed failure`.
pub(crate) fn counted_ends(jobs: impl Iterator<Item = (Status, bool)>) -> String {
    let mut counts: Vec<((Status, bool), usize)> = Vec::new();
    for (status, may_fail) in jobs {
        let end = (status, may_fail && status == Status::Failed);
        match counts.iter_mut().find(|(counted, _)| *counted == end) {
            Some((_, count)) => *count += 1,
            None => counts.push((end, 1)),
        }
    }
    let words = counts
        .iter()
        .map(|((status, is_allowed), count)| match is_allowed {
            false => format!("{count} {status}"),
            true => counted(*count, "allowed failure"),
        });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns what follows such counts where some jobs did not run: `, 2 of them reused`.
pub(crate) fn of_them_reused(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(", {count} of them reused"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_counted_in_the_order_they_are_met() {
        let check = |jobs: &[(Status, bool)], expect: &str| {
            assert_eq!(counted_ends(jobs.iter().copied()), expect);
        };
        check(&[], "");
        let (good, bad) = (Status::Success, Status::Failed);
        check(
            &[(good, true), (bad, true), (good, false)],
            "2 success, 1 allowed failure",
        );
        check(
            &[(bad, false), (bad, true), (bad, true)],
            "1 failed, 2 allowed failures",
        );
    }
}
