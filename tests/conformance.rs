//! The conformance suite on the model that it brings along, in every format that is written: that
//! the suite asks for nothing that cannot be had, and that it notices what a backend does wrong.

use leaflog::Format;
use leaflog::conformance::ModelFactory;

leaflog::conformance_tests!(pi_v4, ModelFactory::default());
leaflog::conformance_tests!(pi_v3, ModelFactory::new(Format::PiV3));
leaflog::conformance_tests!(codebot_v3, ModelFactory::new(Format::CodebotV3));
