//! The documents claim only what is there.

use std::fs;
use std::path::Path;

/// Every test that SECURITY.md names is a test of this crate.
#[test]
fn every_test_that_the_security_document_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    read(&root.join("tests"), &mut sources);
    read(&root.join("src"), &mut sources);
    let document = include_str!("../SECURITY.md");
    let names: Vec<&str> = document
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.matches('_').count() >= 4)
        .collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names.iter().filter(|name| !name.contains('…')) {
        assert!(
            sources.contains(&format!("#[test]\nfn {name}()"))
                || sources.contains(&format!("#[test]\n    fn {name}()")),
            "{name}"
        );
    }
}

/// Adds every Rust file below `directory`.
fn read(directory: &Path, to: &mut String) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            read(&entry.path(), to);
        } else if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "rs")
        {
            to.push_str(&fs::read_to_string(entry.path()).unwrap());
        }
    }
}
