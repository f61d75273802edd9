//! The conformance suite: what every backend of [`SessionStorage`](crate::SessionStorage) and
//! [`SessionRepository`] must do, as a list of named cases. Behind the feature `conformance`;
//! needs nothing but the contract and knows no backend.
//!
//! A backend gives a [`Factory`], which says what it can do and makes fresh places. Whatever runs
//! tests can register the [`cases`]; under `cargo test` one line makes a test of each:
//!
//! ```
//! # #[cfg(feature = "conformance")] mod example {
//! leaflog::conformance_tests!(model, leaflog::conformance::ModelFactory::default());
//! # }
//! ```
//!
//! After each case, the sessions that it made are opened again (where the backend keeps them) and
//! compared with what they were. What a format or backend cannot do is no reason to leave a case
//! out: it must then answer `unsupported`, and nothing may have changed.

mod cases;
mod dialect;
mod failure;
mod history;
mod model;
mod scene;
mod state;

pub use failure::Failure;
pub use history::History;
pub use model::{Model, ModelFactory};
use scene::Scene;

use std::path::PathBuf;

use crate::contract::SessionRepository;
use crate::error::Result;
use crate::model::Format;

/// What a backend can do in one format. What it cannot must be answered with `unsupported`.
///
/// ```
/// use leaflog::Format;
/// use leaflog::conformance::Capabilities;
///
/// let memory = Capabilities { persistent: false, ..Capabilities::of(Format::PiV4) };
/// assert!(memory.records);
/// assert!(!Capabilities::of(Format::CodebotV3).labels);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The format that sessions are made in.
    pub format: Format,
    /// Another repository on the same place has the sessions too.
    pub persistent: bool,
    /// A session exists only from its first user or assistant message on; what came before is
    /// kept with it. (pi v3)
    pub saved_from_first_message: bool,
    /// There can be other lanes than `main`, and moving one is kept. (pi v4)
    pub lanes: bool,
    /// There are execution records. Without them queries for some find none. (pi v4)
    pub records: bool,
    /// Entries can be labelled. Without it, no entry has a label. (pi)
    pub labels: bool,
    /// Names and labels are facts beside the tree; else they are entries. (pi v4)
    pub facts: bool,
    /// Sessions can have an object of their maker's. (pi v4)
    pub metadata: bool,
    /// Sessions can name a parent. (pi)
    pub parents: bool,
    /// Entries can have any id that the caller likes; else one of 8 lower-case hex digits. (pi v4)
    pub any_id: bool,
}

impl Capabilities {
    /// What the format itself allows, kept.
    #[must_use]
    pub const fn of(format: Format) -> Self {
        let v4 = matches!(format, Format::PiV4);
        let pi = !matches!(format, Format::CodebotV3);
        Self {
            format,
            persistent: true,
            saved_from_first_message: pi && !v4,
            lanes: v4,
            records: v4,
            labels: pi,
            facts: v4,
            metadata: v4,
            parents: pi,
            any_id: v4,
        }
    }
}

/// Makes places for one backend to be tested in. Tests run on many threads.
///
/// ```
/// use leaflog::conformance::{Capabilities, Factory, Fixture, Model, run};
/// use leaflog::{Format, Result, SessionRepository};
///
/// /// A place: here the model's, else a temporary folder or an empty database.
/// struct Place(Model);
///
/// impl Fixture for Place {
///     fn repository(&self) -> Result<Box<dyn SessionRepository>> {
///         Ok(Box::new(self.0.clone()))
///     }
/// }
///
/// struct Places;
///
/// impl Factory for Places {
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::of(Format::PiV4)
///     }
///
///     fn fixture(&self) -> Result<Box<dyn Fixture>> {
///         Ok(Box::new(Place(Model::default())))
///     }
/// }
///
/// run("lanes_share_the_tree", &Places).unwrap();
/// ```
pub trait Factory: Sync {
    /// What the backend can do.
    fn capabilities(&self) -> Capabilities;

    /// A fresh place without sessions. Dropping it cleans up.
    ///
    /// # Errors
    ///
    /// Whatever keeps the place from being made.
    fn fixture(&self) -> Result<Box<dyn Fixture>>;
}

/// One place with sessions. The example of [`Factory`] makes some.
pub trait Fixture {
    /// A repository on the place: each call makes another one, as another process would. Where
    /// nothing is kept, all are one.
    ///
    /// # Errors
    ///
    /// Whatever keeps the repository from being opened.
    fn repository(&self) -> Result<Box<dyn SessionRepository>>;

    /// The folder that the logs lie in, for backends whose sessions are files: a log that is
    /// copied to the same place below the folder of another fixture is a session there.
    fn folder(&self) -> Option<PathBuf> {
        None
    }
}

/// One requirement, to be run on any backend.
#[derive(Clone, Copy)]
pub struct Case {
    name: &'static str,
    body: fn(&Scene<'_>) -> std::result::Result<(), Failure>,
}

impl Case {
    /// A name that is also one of a Rust function.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the case in a fresh place, then opens its sessions again and compares.
    ///
    /// # Errors
    ///
    /// What the backend did, and what it should have done.
    pub fn run(&self, factory: &dyn Factory) -> std::result::Result<(), Failure> {
        let run = || {
            let scene = Scene::new(factory)?;
            (self.body)(&scene)?;
            scene.finish()
        };
        run().map_err(|failure| failure.in_case(self.name))
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}

/// All cases.
///
/// ```
/// # #[cfg(feature = "conformance")] {
/// use leaflog::conformance::{ModelFactory, cases};
///
/// let case = cases().next().unwrap();
/// assert_eq!(case.name(), "one_sequence_over_all_mutations");
/// case.run(&ModelFactory::default()).unwrap();
/// # }
/// ```
pub fn cases() -> impl Iterator<Item = Case> {
    cases::ALL.iter().copied()
}

/// Runs the case with a name, as the example of [`Factory`] does.
///
/// # Errors
///
/// As [`Case::run`]; also if there is no such case.
pub fn run(name: &str, factory: &dyn Factory) -> std::result::Result<(), Failure> {
    match cases().find(|case| case.name == name) {
        Some(case) => case.run(factory),
        None => Err(Failure::new(format!("there is no case `{name}`"))),
    }
}

/// A module of tests with one `#[test]` for each case of the suite, run on a factory:
/// `leaflog::conformance_tests!(module_name, factory);`. The factory is an expression that sees
/// what stands around the macro; it is evaluated in each test.
#[macro_export]
macro_rules! conformance_tests {
    ($module:ident, $factory:expr) => {
        $crate::conformance_tests!(@list tests $module, $factory);
    };
    (@list $then:ident $($rest:tt)*) => {
        $crate::conformance_tests! { @$then {
            lanes::one_sequence_over_all_mutations
            lanes::records_and_lane_moves_commit_apart
            lanes::failed_lane_calls_change_nothing
            lanes::duplicate_ids_are_refused
            lanes::ids_of_the_caller_are_kept
            lanes::lanes_share_the_tree
            lanes::lanes_on_one_leaf_diverge
            lanes::lane_views_remember_no_leaf
            lanes::lane_names_stay_taken
            lanes::moving_main_makes_a_branch
            lanes::concurrent_writes_have_one_order
            queries::invalid_queries_are_refused_before_reading
            queries::filters_limits_and_cursors
            queries::branch_queries_go_along_one_path
            queries::branch_bounds_are_inclusive
            queries::a_missing_start_is_not_found
            queries::the_log_is_read_in_pages
            records::records_are_found_by_what_they_say
            records::operations_are_found_by_their_kind
            records::queue_cancellation_consumes_nothing
            records::one_open_operation_a_lane
            records::an_earlier_finish_closes_no_later_start
            records::open_operations_are_scoped_by_lane_and_limit
            facts::the_latest_fact_counts
            facts::clearing_the_name_is_durable
            facts::labels_need_an_entry
            facts::stats_are_summed_over_lanes
            payloads::what_was_read_can_be_changed
            payloads::terminate_survives
            payloads::bad_entries_are_refused_before_storing
            payloads::bad_records_are_refused_before_storing
            payloads::odd_payloads_are_kept_as_they_are
            payloads::line_breaks_between_tokens_are_taken_out
            payloads::long_thinking_is_cut
            snapshots::a_snapshot_is_the_context_of_its_path
            snapshots::each_lane_has_its_own_context
            snapshots::snapshots_of_nothing
            repository::create_list_and_open
            repository::ids_are_made_and_checked
            repository::delete_is_idempotent
            repository::a_second_writer_is_refused
            repository::a_closed_session_answers_closed
            repository::the_latest_session_comes_first
            repository::reading_beside_a_writer
            repository::what_the_maker_gave_is_kept
            forks::a_branch_fork_takes_the_path
            forks::a_fork_goes_on_by_itself
            forks::a_closed_source_stays_as_it_is
            forks::a_tree_fork_takes_everything
            forks::forks_end_at_or_before_a_message
            forks::other_fork_targets_are_refused
            forks::a_cleared_name_is_not_forked
            forks::an_empty_session_forks_empty
            crash::a_torn_last_line_is_as_if_not_written
            random::random_histories_agree_with_the_model
        } $($rest)* }
    };
    (@tests {$($group:ident :: $case:ident)*} $module:ident, $factory:expr) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $case() {
                    if let Err(failure) = $crate::conformance::run(stringify!($case), &$factory) {
                        panic!("{failure}");
                    }
                }
            )*
        }
    };
    (@table {$($group:ident :: $case:ident)*}) => {
        &[$($crate::conformance::Case {
            name: stringify!($case),
            body: $group::$case,
        }),*]
    };
}
