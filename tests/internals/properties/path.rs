//! Where a program is found (SPEC 3.2), in small trees of directories, files and links.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::{geteuid, mkdtemp};

use crate::process::{StartError, find};

const DIRECTORIES: [&[u8]; 4] = [b"a", b"b c", b"d\xff", b"e"];
const PROGRAMS: [&str; 14] = [
    "p",
    "p",
    "p",
    "p",
    "P.q",
    "-p",
    "p q",
    "p=q",
    "\u{e9}\u{202e}",
    ".",
    "..",
    "./p",
    "a/p",
    "/p",
];

/// What stands under the name of a directory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Directory,
    /// That only root can look into.
    Closed,
    /// A link to the next of the directories, which may be one as well.
    Link,
    Dangling,
    File,
    Missing,
}

/// What stands under the name of the program in a directory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Missing,
    /// With this mode.
    File(u32),
    Link(&'static str),
    Directory,
}

const PLACES: [Place; 9] = {
    use Place::*;
    [
        Directory, Directory, Directory, Directory, Closed, Link, Dangling, File, Missing,
    ]
};
const ITEMS: [Item; 12] = {
    use Item::*;
    [
        Missing,
        Missing,
        Directory,
        File(0o755),
        File(0o700),
        File(0o644),
        File(0o610),
        File(0o601),
        Link("../store/program"),
        Link("../store/text"),
        Link("../store"),
        Link("../nowhere"),
    ]
};

/// Of any tree, any `PATH` and any program, as these bytes choose them: found where a slow and simple reading of the clause
/// finds it, which knows the tree from its making and looks at nothing.
pub fn path_of(choices: &[u8]) {
    let mut choices = choices.iter();
    let mut choose = |of: usize| usize::from(*choices.next().unwrap_or(&0)) % of;
    let program = PROGRAMS[choose(PROGRAMS.len())];
    let tree: [(Place, Item); 4] =
        std::array::from_fn(|_| (PLACES[choose(PLACES.len())], ITEMS[choose(ITEMS.len())]));
    let root = Root::with(&tree, program);
    let path: Vec<Entry> = (0..choose(7))
        .map(|_| root.entry(choose(4), choose(14)))
        .collect();
    let text = path
        .iter()
        .map(|entry| &*entry.text)
        .collect::<Vec<_>>()
        .join(&b':');

    let found = match find(program, Some(OsStr::from_bytes(&text))) {
        Ok(path) => Ok(path.into_os_string().into_encoded_bytes()),
        Err(StartError::NotExecutable(path)) => {
            Err(Some(path.into_os_string().into_encoded_bytes()))
        }
        Err(StartError::NotInPath) => Err(None),
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(
        found,
        expected(&tree, &path, program),
        "{program:?} in {tree:?} with {:?}",
        OsStr::from_bytes(&text)
    );
}

/// One entry of `PATH`.
struct Entry {
    text: Vec<u8>,
    /// The directory it leads to, where it is one that counts.
    leads: Option<usize>,
}

/// The path, or the first that is no program.
fn expected(
    tree: &[(Place, Item); 4],
    path: &[Entry],
    program: &str,
) -> Result<Vec<u8>, Option<Vec<u8>>> {
    if program.contains('/') {
        return Ok(program.into());
    }
    let is_root = geteuid().is_root();
    let mut not_executable = None;
    for entry in path {
        let Some(mut at) = entry.leads else { continue };
        // Four links lead in a circle.
        let mut links = 0;
        while tree[at].0 == Place::Link && links < 4 {
            (at, links) = ((at + 1) % 4, links + 1);
        }
        let is_open = tree[at].0 == Place::Directory || tree[at].0 == Place::Closed && is_root;
        if !is_open || program == "." || program == ".." {
            continue;
        }
        let is_executable = match tree[at].1 {
            Item::File(mode) => mode & 0o100 != 0 || is_root && mode & 0o111 != 0,
            Item::Link("../store/program") => true,
            Item::Link("../store/text") => false,
            Item::Missing | Item::Directory | Item::Link(_) => continue,
        };
        let slash: &[u8] = if entry.text.ends_with(b"/") {
            b""
        } else {
            b"/"
        };
        let candidate = [&entry.text, slash, program.as_bytes()].concat();
        if is_executable {
            return Ok(candidate);
        }
        not_executable.get_or_insert(candidate);
    }
    Err(not_executable)
}

/// A tree on the disk, for as long as this lives.
struct Root(PathBuf);

impl Root {
    fn with(tree: &[(Place, Item); 4], program: &str) -> Root {
        let root = Root(mkdtemp(&std::env::temp_dir().join("bravebot-hooks-path-XXXXXX")).unwrap());
        fs::create_dir(root.0.join("store")).unwrap();
        file(&root.0.join("store/program"), 0o755);
        file(&root.0.join("store/text"), 0o644);
        for (index, (place, item)) in tree.iter().enumerate() {
            let directory = root.directory(index);
            match place {
                Place::Missing => {}
                Place::File => file(&directory, 0o755),
                Place::Dangling => symlink("nowhere", &directory).unwrap(),
                Place::Link => {
                    symlink(OsStr::from_bytes(DIRECTORIES[(index + 1) % 4]), &directory).unwrap()
                }
                Place::Directory | Place::Closed => {
                    fs::create_dir(&directory).unwrap();
                    match program.rsplit('/').next() {
                        // There already.
                        None | Some("." | "..") => {}
                        Some(name) => put(*item, &directory.join(name)),
                    }
                    if *place == Place::Closed {
                        fs::set_permissions(&directory, Permissions::from_mode(0o600)).unwrap();
                    }
                }
            }
        }
        root
    }

    fn directory(&self, index: usize) -> PathBuf {
        self.0.join(OsStr::from_bytes(DIRECTORIES[index]))
    }

    /// One way of writing an entry of `PATH`.
    fn entry(&self, index: usize, how: usize) -> Entry {
        let absolute = self.directory(index).into_os_string().into_encoded_bytes();
        let (text, counts) = match how {
            0..=4 => (absolute, true),
            5 => ([&*absolute, b"/"].concat(), true),
            6 => ([&*absolute, b"//"].concat(), true),
            7 => ([&*absolute, b"/."].concat(), true),
            8 => ([b"/", &*absolute].concat(), true),
            // Relative, and leads there.
            9 => {
                let up = std::env::current_dir()
                    .unwrap()
                    .components()
                    .skip(1)
                    .map(|_| "..")
                    .collect::<PathBuf>();
                (
                    [
                        up.as_os_str().as_bytes(),
                        if up.as_os_str().is_empty() { b"." } else { b"" },
                        &absolute,
                    ]
                    .concat(),
                    false,
                )
            }
            10 => (Vec::new(), false),
            11 => (DIRECTORIES[index].into(), false),
            12 => (
                self.0
                    .join("store/program")
                    .into_os_string()
                    .into_encoded_bytes(),
                false,
            ),
            _ => ([b"/", &*b"x".repeat(300)].concat(), false),
        };
        Entry {
            text,
            leads: counts.then_some(index),
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        for index in 0..4 {
            let directory = self.directory(index);
            if directory
                .symlink_metadata()
                .is_ok_and(|found| found.is_dir())
            {
                let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
            }
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(item: Item, at: &Path) {
    match item {
        Item::Missing => {}
        Item::File(mode) => file(at, mode),
        Item::Link(to) => symlink(to, at).unwrap(),
        Item::Directory => fs::create_dir(at).unwrap(),
    }
}

fn file(at: &Path, mode: u32) {
    fs::write(at, "").unwrap();
    fs::set_permissions(at, Permissions::from_mode(mode)).unwrap();
}
