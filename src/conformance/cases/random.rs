//! Random histories, some fixed ones of them; tests of a backend should draw many more.

use crate::conformance::failure::Outcome;
use crate::conformance::history;
use crate::conformance::scene::Scene;

pub(super) fn random_histories_agree_with_the_model(scene: &Scene<'_>) -> Outcome {
    history::some_agree(scene.factory)
}
