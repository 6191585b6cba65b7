//! A table of the objects that jobs created in a container engine.

use console::{Row, Style, Tone, age, grid, size, strip_controls};
use executor_docker::garbage::{Collection, Item, KeepReason, RemovalReason, Verdict};
use jiff::Timestamp;

/// Returns a line for each object with its fate and the reason; an empty text without objects.
pub(super) fn garbage_table(found: &Collection, now: Timestamp, style: Style) -> String {
    if found.items.is_empty() {
        return String::new();
    }
    let heads = ["", "kind", "name", "size", "last used", "why"];
    let rows = found.items.iter().map(|item| row(item, now));
    grid(heads, &rows.collect::<Vec<_>>(), style)
}

fn row(item: &Item, now: Timestamp) -> Row<6> {
    let (fate, tone) = match item.verdict {
        Verdict::Remove(_) => ("would go", Tone::Plain),
        Verdict::Removed(_) => ("removed", Tone::Plain),
        Verdict::Keep(KeepReason::Refused(_)) => ("stays", Tone::Warning),
        Verdict::Keep(_) => ("stays", Tone::Quiet),
    };
    let used = Timestamp::try_from(item.used).unwrap_or(Timestamp::MIN);
    Row {
        cells: [
            fate.to_owned(),
            item.kind.to_string(),
            strip_controls(&item.name),
            size(item.bytes),
            age(now, used),
            strip_controls(&why(&item.verdict)),
        ],
        tone,
    }
}

fn why(verdict: &Verdict) -> String {
    let text = match verdict {
        Verdict::Remove(RemovalReason::Unused(_)) | Verdict::Removed(RemovalReason::Unused(_)) => {
            "no job has used it lately"
        }
        Verdict::Remove(RemovalReason::OverBudget)
        | Verdict::Removed(RemovalReason::OverBudget) => "over the budget",
        Verdict::Keep(stays) => return why_it_stays(stays),
    };
    text.to_owned()
}

fn why_it_stays(stays: &KeepReason) -> String {
    let text = match stays {
        KeepReason::WithinBudget => "there is room",
        KeepReason::NoLimit => "there is no limit",
        KeepReason::NotOurs => "not ours: no job added it, or you pulled it too",
        KeepReason::OtherName(name) => return format!("it is {name} too"),
        KeepReason::Kept => "keep-images",
        KeepReason::Leased(job) => return format!("in use by job {job}"),
        KeepReason::InContainer => "a container uses it",
        KeepReason::FreesNothing => "it would free nothing",
        KeepReason::PullsGoOn => "images are being pulled",
        KeepReason::NoTime => "the time was up",
        KeepReason::Refused(words) => return format!("the engine refuses: {words}"),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_docker::garbage::ItemKind;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn each_object_is_listed_with_its_reason() {
        let day = Duration::from_hours(24);
        let item = |kind, name: &str, bytes, days, verdict| Item {
            kind,
            name: name.to_owned(),
            bytes,
            used: UNIX_EPOCH + 100 * day - days * day,
            verdict,
        };
        let (image, volume) = (ItemKind::Image, ItemKind::Volume);
        let unused = || RemovalReason::Unused(40 * day);
        let name = "runwright-cache-0f2c";
        let mut found = Collection::default();
        assert_eq!(
            garbage_table(&found, Timestamp::UNIX_EPOCH, Style::PLAIN),
            ""
        );
        found.items = vec![
            item(
                image,
                "a:1",
                7_800_000,
                40,
                Verdict::Keep(KeepReason::NotOurs),
            ),
            item(image, "b:1", 1_100_000_000, 21, Verdict::Remove(unused())),
            item(
                volume,
                name,
                412,
                15,
                Verdict::Removed(RemovalReason::OverBudget),
            ),
            item(
                image,
                "c\u{1b}[2J",
                5,
                2,
                Verdict::Keep(KeepReason::Leased("test".to_owned())),
            ),
            item(
                image,
                "d:1",
                5,
                0,
                Verdict::Keep(KeepReason::Refused("busy".to_owned())),
            ),
        ];
        let now = Timestamp::try_from(UNIX_EPOCH + 100 * day).expect("a moment");
        let expect = "\
\x20         kind    name                  size    last used  why
stays     image   a:1                   7.8 MB  40d ago    not ours: no job added it, or you pulled it too
would go  image   b:1                   1.1 GB  21d ago    no job has used it lately
removed   volume  runwright-cache-0f2c  412 B   15d ago    over the budget
stays     image   c                     5 B     2d ago     in use by job test
stays     image   d:1                   5 B     0s ago     the engine refuses: busy
";
        assert_eq!(garbage_table(&found, now, Style::PLAIN), expect);
    }
}
