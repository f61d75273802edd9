//! Tests of the order in which trees are drawn.

use std::convert::Infallible;

use super::{Forest, Step};

fn drawn(parents: &[Option<usize>], current: Option<usize>, keep: &[usize]) -> Vec<String> {
    let mut lines = Vec::new();
    let forest = Forest::new(parents, current);
    let result: Result<(), Infallible> = forest.draw(
        |node| keep.contains(&node),
        |node| node % 2 == 0,
        |step| {
            lines.push(match step {
                Step::Node { node, level, opens } => {
                    let mark = if opens { "+" } else { "" };
                    format!("{}{mark}{node}", " ".repeat(level))
                }
                Step::Run {
                    level,
                    entries,
                    tallied,
                } => format!("{}({entries}, {tallied})", " ".repeat(level)),
            });
            Ok(())
        },
    );
    result.unwrap();
    lines
}

/// Each entry but the first has the one before as its parent.
fn chain(length: usize) -> Vec<Option<usize>> {
    (0..length).map(|node| node.checked_sub(1)).collect()
}

#[test]
fn a_straight_run_folds_and_its_ends_stay() {
    assert_eq!(drawn(&chain(6), Some(5), &[]), ["+0", "(4, 2)", "5"]);
    assert_eq!(
        drawn(&chain(6), Some(5), &[2]),
        ["+0", "1", "2", "(2, 1)", "5"]
    );
    assert_eq!(drawn(&chain(1), None, &[]), ["+0"]);
    assert!(drawn(&[], None, &[]).is_empty());
}

#[test]
fn the_current_path_goes_straight_on_and_branches_come_before_it() {
    // 0 has the children 1 (with 2 and 3 below it) and 4.
    let parents = [None, Some(0), Some(1), Some(2), Some(0)];
    assert_eq!(drawn(&parents, Some(3), &[]), ["+0", " +4", "(2, 1)", "3"]);
    assert_eq!(
        drawn(&parents, Some(4), &[]),
        ["+0", " +1", " 2", " 3", "4"]
    );
}

#[test]
fn children_may_stand_before_their_parents_and_roots_may_be_many() {
    assert_eq!(
        drawn(&[Some(1), None, None], Some(0), &[]),
        ["+1", "0", "+2"]
    );
}

#[test]
fn a_cycle_is_cut_open_and_drawn_once() {
    // 1, 2 and 3 form a cycle; 4 hangs on 3.
    let parents = [None, Some(3), Some(1), Some(2), Some(3)];
    let lines = drawn(&parents, Some(4), &[]);
    assert_eq!(lines, ["+0", "+1", "2", "3", "4"]);
    assert!(Forest::new(&parents, None).is_cut(1));
    assert_eq!(drawn(&[Some(0)], Some(0), &[]), ["+0"]);
}

#[test]
fn a_million_entries_in_a_chain_and_a_fan_draw_without_recursion() {
    let lines = drawn(&chain(1_000_000), Some(999_999), &[]);
    assert_eq!(lines, ["+0", "(999998, 499999)", "999999"]);
    let fan: Vec<_> = (0..100_001).map(|node| (node > 0).then_some(0)).collect();
    assert_eq!(drawn(&fan, None, &[]).len(), 100_001);
}

#[test]
fn a_comb_of_branches_needs_few_columns() {
    // Every odd entry branches off the spine of the even ones.
    let parents: Vec<Option<usize>> = (0..100_000usize)
        .map(|node| match node {
            0 => None,
            node if node % 2 == 1 => Some(node - 1),
            node => Some(node - 2),
        })
        .collect();
    let lines = drawn(&parents, None, &[]);
    assert_eq!(lines.len(), 100_000);
    assert!(lines.iter().all(|line| !line.starts_with("  ")));
}
