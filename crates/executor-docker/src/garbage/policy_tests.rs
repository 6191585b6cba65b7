use super::*;

const DAY: Duration = Duration::from_hours(24);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + 1000 * DAY
}

fn candidate(name: &str, days: u32, size: u64) -> Candidate {
    Candidate {
        kind: ItemKind::Volume,
        name: name.to_owned(),
        footprint: Footprint {
            size,
            ..Footprint::default()
        },
        used: now() - days * DAY,
        stays: None,
    }
}

fn image(layers: &[(&str, u64)], shared: u64, days: u32) -> Candidate {
    let names: Vec<String> = layers.iter().map(|(name, _)| (*name).to_owned()).collect();
    Candidate {
        kind: ItemKind::Image,
        footprint: Footprint {
            id: names.concat(),
            size: layers.iter().map(|(_, size)| size).sum(),
            layers: names,
            shared,
        },
        ..candidate(layers[layers.len() - 1].0, days, 0)
    }
}

fn stays(candidate: Candidate, why: KeepReason) -> Candidate {
    Candidate {
        stays: Some(why),
        ..candidate
    }
}

fn budget(disk: impl Into<Option<u64>>, days: impl Into<Option<u32>>) -> Budget {
    Budget {
        disk: disk.into(),
        unused_for: days.into().map(|days| days * DAY),
        ..Budget::default()
    }
}

/// Checks which candidates are removed, in order.
fn check(things: &[Candidate], others: &[Footprint], budget: &Budget, expect: &[&str]) -> Decision {
    let decision = decide(things, others, budget, now());
    let gone = decision
        .order
        .iter()
        .map(|&index| things[index].name.as_str());
    assert_eq!(gone.collect::<Vec<_>>(), expect, "{budget:?}");
    for &index in &decision.order {
        assert!(matches!(decision.verdicts[index], Verdict::Remove(_)));
    }
    decision
}

#[test]
fn the_least_recently_used_are_removed_until_the_rest_fits() {
    let things = [
        candidate("b", 2, 10),
        candidate("c", 3, 10),
        candidate("a", 1, 10),
    ];
    check(&things, &[], &budget(30, None), &[]);
    check(&things, &[], &budget(29, None), &["c"]);
    check(&things, &[], &budget(10, None), &["c", "b"]);
    let all = check(&things, &[], &budget(0, None), &["c", "b", "a"]);
    assert_eq!(all.held, 30);
    assert_eq!(all.verdicts[0], Verdict::Remove(RemovalReason::OverBudget));
}

#[test]
fn items_unused_for_too_long_are_removed_first() {
    let things = [
        candidate("new", 1, 50),
        candidate("old", 20, 1),
        candidate("older", 30, 1),
    ];
    let decision = check(&things, &[], &budget(None, 14), &["older", "old"]);
    assert_eq!(
        decision.verdicts[1],
        Verdict::Remove(RemovalReason::Unused(20 * DAY))
    );
    assert_eq!(
        decision.verdicts[0],
        Verdict::Keep(KeepReason::WithinBudget)
    );
    // The remaining items then fit.
    check(&things, &[], &budget(50, 14), &["older", "old"]);
    check(&things, &[], &budget(None, 30), &[]);
}

#[test]
fn without_a_limit_everything_is_kept() {
    let decision = check(
        &[candidate("a", 900, 1 << 40)],
        &[],
        &Budget::default(),
        &[],
    );
    assert_eq!(decision.verdicts, [Verdict::Keep(KeepReason::NoLimit)]);
    assert_eq!(decision.held, 1 << 40);
}

#[test]
fn protected_items_are_kept_and_ours_count() {
    let leased = || KeepReason::Leased("build".to_owned());
    let things = [
        stays(candidate("leased", 9, 10), leased()),
        stays(candidate("theirs", 8, 100), KeepReason::NotOurs),
        stays(
            candidate("named", 7, 100),
            KeepReason::OtherName("mine:1".to_owned()),
        ),
        candidate("free", 1, 5),
    ];
    // A leased item counts against the budget.
    let decision = check(&things, &[], &budget(12, None), &["free"]);
    assert_eq!(decision.held, 15);
    assert_eq!(decision.verdicts[0], Verdict::Keep(leased()));
    assert_eq!(decision.verdicts[1], Verdict::Keep(KeepReason::NotOurs));
    check(&things, &[], &budget(15, None), &[]);
    check(&things, &[], &budget(0, 1), &["free"]);
}

#[test]
fn layers_of_several_images_count_once() {
    let one = image(&[("base", 100), ("one", 10)], 100, 3);
    let two = image(&[("base", 100), ("two", 10)], 100, 2);
    let things = [one, two];
    let decision = check(&things, &[], &budget(120, None), &[]);
    assert_eq!(decision.held, 120);
    check(&things, &[], &budget(115, None), &["one"]);
    // The base is removed with its last image.
    check(&things, &[], &budget(109, None), &["one", "two"]);
    // A foreign image has the base, so it neither counts nor is freed.
    let theirs = [image(&[("base", 100), ("x", 1)], 100, 0).footprint];
    let decision = check(&things, &theirs, &budget(20, None), &[]);
    assert_eq!(decision.held, 20);
}

#[test]
fn an_item_that_frees_nothing_is_kept() {
    let base = image(&[("base", 100)], 100, 9);
    let leased = stays(
        image(&[("base", 100), ("app", 10)], 100, 1),
        KeepReason::InContainer,
    );
    let things = [base, leased];
    let decision = check(&things, &[], &budget(50, None), &[]);
    assert_eq!(decision.held, 110);
    assert_eq!(
        decision.verdicts[0],
        Verdict::Keep(KeepReason::FreesNothing)
    );
    // When the image above may be removed, it is removed first, then the base.
    let things = [
        things[0].clone(),
        image(&[("base", 100), ("app", 10)], 100, 1),
    ];
    check(&things, &[], &budget(50, None), &["app", "base"]);
    check(&things, &[], &budget(100, None), &["app"]);
}

#[test]
fn a_clock_set_back_makes_no_item_old() {
    let mut future = candidate("a", 0, 1);
    future.used = now() + 100 * DAY;
    check(&[future], &[], &budget(None, 1), &[]);
}
