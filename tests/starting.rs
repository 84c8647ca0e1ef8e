//! What a hook is and how it is started (SPEC 3).
mod common;
use common::*;

/// SPEC 3.5, CASES 23.
#[test]
fn a_hook_reads_one_line_of_json_and_end_of_file() {
    for moment in ["turn-started", "tool-finished", "turn-finished"] {
        let sandbox = Sandbox::with(&format!(r#"{{"hooks":[{{"on":"{moment}","run":["sh","-c","cat > got"]}}]}}"#));
        sandbox.fire(moment).is_silent_success();
        assert_eq!(sandbox.written("got"), format!("{{\"event\":\"{moment}\"}}\n"));
    }
}
