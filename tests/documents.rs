//! The documents claim only what is there.

use std::fs;
use std::path::Path;

/// Every test that SECURITY.md names is a test of this crate.
#[test]
fn every_test_that_the_security_document_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: String = ["tests", "src"]
        .iter()
        .flat_map(|directory| fs::read_dir(root.join(directory)).unwrap().flatten())
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .collect();
    let document = include_str!("../SECURITY.md");
    let names: Vec<&str> =
        document.split('`').skip(1).step_by(2).filter(|word| word.matches('_').count() >= 4).collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names.iter().filter(|name| !name.contains('…')) {
        assert!(
            sources.contains(&format!("#[test]\nfn {name}()"))
                || sources.contains(&format!("#[test]\n    fn {name}()")),
            "{name}"
        );
    }
}
