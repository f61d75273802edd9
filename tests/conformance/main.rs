//! The conformance suite on the model that it brings along, in every format that is written: that
//! the suite asks for nothing that cannot be had, and that it notices what a backend does wrong.

mod backends;
mod broken;

use broken::{BrokenFactory, Fault};
use leaflog::Format;
use leaflog::conformance::{Case, History, ModelFactory, cases};
use proptest::prelude::*;

leaflog::conformance_tests!(pi_v4, ModelFactory::default());
leaflog::conformance_tests!(pi_v3, ModelFactory::new(Format::PiV3));
leaflog::conformance_tests!(codebot_v3, ModelFactory::new(Format::CodebotV3));

/// The cases that notice a fault.
fn noticed_by(fault: Fault) -> Vec<&'static str> {
    let factory = BrokenFactory(fault);
    let fails = |case: &Case| case.run(&factory).is_err();
    cases().filter(fails).map(|case| case.name()).collect()
}

#[test]
fn every_fault_is_noticed_by_a_named_case() {
    for fault in Fault::ALL {
        let cases = noticed_by(fault);
        let named = cases.iter().any(|case| !case.starts_with("random"));
        assert!(named, "no case notices {fault:?}: {cases:?}");
    }
}

#[test]
fn a_backend_without_faults_fails_nothing() {
    assert_eq!(noticed_by(Fault::None), Vec::<&str>::new());
}

#[test]
fn names_of_cases_are_distinct() {
    let mut names: Vec<_> = cases().map(|case| case.name()).collect();
    assert!(names.len() > 45, "{}", names.len());
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn histories_notice_faults_and_tell_few_calls() {
    for fault in [
        Fault::LeafForgotten,
        Fault::DuplicateAccepted,
        Fault::LabelClearingIgnored,
        Fault::WrongOrder,
        Fault::CursorInclusive,
        Fault::BoundExclusive,
        Fault::FailedCallWrites,
        Fault::FinishIgnored,
        Fault::SnapshotOfMain,
    ] {
        let failure = (0..20)
            .find_map(|seed| History::new(seed, 150).run(&BrokenFactory(fault)).err())
            .unwrap_or_else(|| panic!("no history notices {fault:?}"))
            .to_string();
        let (_, calls) = failure.split_once("after the calls").unwrap();
        assert!(calls.lines().count() < 16, "{fault:?}: {failure}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn histories_of_the_model_agree_with_it(seed: u64, calls in 1..120_usize, format in 0..3_usize) {
        let format = [Format::PiV4, Format::PiV3, Format::CodebotV3][format];
        History::new(seed, calls).run(&ModelFactory::new(format)).unwrap();
    }
}
