//! The decision of SPEC 1.4: every input, against the letter of the clause and against what another user of the machine could
//! do.

use std::fmt;

use nix::libc;
use nix::sys::stat::{FileStat, stat};

use crate::trust::{Fault, judge};

/// The bits of an entry and of its directory that can make a difference.
const ENTRY_BITS: u32 = 0o1022;
const DIRECTORY_BITS: u32 = 0o1033;
/// This user, where it is not root, and two others.
const USER: u32 = 1000;
const STRANGERS: [u32; 2] = [1001, 1002];

/// What lies in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Link,
    Directory,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::File, Kind::Link, Kind::Directory];

    /// As stat(2) has them in the mode.
    fn bits(self) -> u32 {
        match self {
            Kind::File => libc::S_IFREG,
            Kind::Link => libc::S_IFLNK,
            Kind::Directory => libc::S_IFDIR,
        }
    }
}

/// An entry in a directory, as stat(2) tells of them, and this user.
#[derive(Clone, Copy)]
struct Input {
    kind: Kind,
    user: u32,
    entry: FileStat,
    directory: FileStat,
}

impl Input {
    fn new(kind: Kind, user: u32) -> Input {
        // Of a real one, so that what makes no difference is not zero.
        let real = stat("/").unwrap();
        let mut input = Input {
            kind,
            user,
            entry: real,
            directory: real,
        };
        (input.entry.st_nlink, input.directory.st_nlink) = (1, 2);
        input.set_modes(0, 0);
        input
    }

    fn set_modes(&mut self, entry: u32, directory: u32) {
        self.entry.st_mode = self.kind.bits() | entry;
        self.directory.st_mode = libc::S_IFDIR | directory;
    }

    fn set_owners(&mut self, entry: u32, directory: u32) {
        (self.entry.st_uid, self.directory.st_uid) = (entry, directory);
    }

    fn judge(&self) -> Result<(), Fault> {
        judge(&self.entry, &self.directory, self.user)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |stat: &FileStat| {
            format!(
                "mode {:o} of {}, {} links",
                stat.st_mode, stat.st_uid, stat.st_nlink
            )
        };
        write!(
            f,
            "{:?} of {}: {} in {}",
            self.kind,
            self.user,
            shown(&self.entry),
            shown(&self.directory)
        )
    }
}

/// Calls `each` with everything that there is of an entry in a directory: its kind, this user (root, another), the owner
/// of either (root, this user, a third), how many links, and these modes. Says how many that were.
fn each_input(
    modes: impl Iterator<Item = u32> + Clone,
    directory_modes: impl Iterator<Item = u32> + Clone,
    mut each: impl FnMut(&Input),
) -> u64 {
    let mut count = 0;
    let users: [(u32, &[u32]); 2] = [(0, &[0, STRANGERS[0]]), (USER, &[0, USER, STRANGERS[0]])];
    for kind in Kind::ALL {
        for (user, owners) in users {
            let mut input = Input::new(kind, user);
            for directory_mode in directory_modes.clone() {
                for mode in modes.clone() {
                    input.set_modes(mode, directory_mode);
                    for (&owner, &directory_owner) in owners
                        .iter()
                        .flat_map(|one| owners.iter().map(move |two| (one, two)))
                    {
                        input.set_owners(owner, directory_owner);
                        // Directories have no other name.
                        for links in 1..=if kind == Kind::Directory { 1 } else { 2 } {
                            input.entry.st_nlink = links;
                            each(&input);
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    count
}

/// Every mode with no bit but of `bits`.
fn modes_of(bits: u32) -> impl Iterator<Item = u32> + Clone {
    (0..=0o7777).filter(move |mode| mode & !bits == 0)
}

/// Read, the owner's bits, setuid and setgid: the inputs of the other tests leave them out of the directory's mode.
#[test]
fn no_other_bit_of_a_mode_changes_the_verdict() {
    // A fault quotes the mode.
    let plain = |verdict: Result<(), Fault>| match verdict {
        Err(Fault::Writable { owner, .. }) => Err(Fault::Writable { owner, mode: 0 }),
        verdict => verdict,
    };
    let mut count = each_input(modes_of(ENTRY_BITS), 0..=0o7777, |input| {
        let mut bare = *input;
        bare.directory.st_mode &= DIRECTORY_BITS | !0o7777;
        assert_eq!(plain(input.judge()), plain(bare.judge()), "{input:?}");
    });
    // Every mode of a file with every mode of its directory, where the owner does not decide.
    let mut input = Input::new(Kind::File, USER);
    input.set_owners(USER, USER);
    let mut bare = input;
    for mode in 0..=0o7777 {
        for directory_mode in 0..=0o7777 {
            input.set_modes(mode, directory_mode);
            bare.set_modes(mode & ENTRY_BITS, directory_mode & DIRECTORY_BITS);
            assert!(input.judge().is_ok() == bare.judge().is_ok(), "{input:?}");
            count += 1;
        }
    }
    assert_eq!(count, 18_907_136);
}

/// SPEC 1.3: what is neither a regular file nor what a path leads through is refused, whoever it belongs to.
#[test]
fn a_fifo_a_socket_and_a_device_are_refused_whoever_they_belong_to() {
    let mut input = Input::new(Kind::File, USER);
    let taken: Vec<u32> = (0..=0o17)
        .map(|kind| kind << 12)
        .filter(|kind| {
            [0, USER, STRANGERS[0]].into_iter().any(|owner| {
                input.set_owners(owner, USER);
                input.entry.st_mode = kind | 0o600;
                !matches!(input.judge(), Err(Fault::NotAFile(_)))
            })
        })
        .collect();
    assert_eq!(taken, [libc::S_IFDIR, libc::S_IFREG, libc::S_IFLNK]);
}

/// The verdict as SPEC 1.4 words it, from the digits that chmod(1) takes.
fn letter(input: &Input) -> Result<(), Fault> {
    const WRITE: [u32; 4] = [2, 3, 6, 7];
    const SEARCH: [u32; 4] = [1, 3, 5, 7];
    let Input {
        kind,
        user,
        entry,
        directory,
    } = input;
    let digits = |stat: &FileStat| [9, 6, 3, 0].map(|shift| stat.st_mode >> shift & 7);
    let ([special, _, group, others], [_, _, directory_group, directory_others]) =
        (digits(entry), digits(directory));
    let (owner, links) = (entry.st_uid, entry.st_nlink);
    let is_ours = [0, *user].contains(&owner);
    let is_writable = WRITE.contains(&group) || WRITE.contains(&others);
    let is_sticky = special % 2 == 1;
    let is_closed = !SEARCH.contains(&directory_group) && !SEARCH.contains(&directory_others);
    let is_shared = WRITE.contains(&directory_group) || WRITE.contains(&directory_others);
    match (kind, is_ours) {
        // "must belong to root or this user", "when the link itself belongs to root or this user"
        (Kind::File | Kind::Directory, false) => Err(Fault::Owner(owner)),
        (Kind::Link, false) => Err(Fault::LinkOwner(owner)),
        // "A sticky directory passes."
        (Kind::Directory, true) if is_sticky || !is_writable => Ok(()),
        // "still passes when its link count is 1 and the directory it lies in gives neither group nor others the search bit"
        (Kind::File, true) if is_writable && links == 1 && is_closed => Ok(()),
        // "neither the other-write nor the group-write bit"
        (Kind::File | Kind::Directory, true) if is_writable => Err(Fault::Writable {
            owner,
            mode: entry.st_mode % 0o10000,
        }),
        // "when somebody other than root or this user could have chosen its bytes": by a link of theirs to a file of yours.
        _ if links == 2 && is_shared => Err(Fault::HardLinks),
        _ => Ok(()),
    }
}

/// SPEC 1.4.
#[test]
fn every_verdict_is_that_of_the_letter() {
    let mut passed = 0_u64;
    let count = each_input(0..=0o7777, modes_of(DIRECTORY_BITS), |input| {
        let verdict = input.judge();
        passed += u64::from(verdict.is_ok());
        assert_eq!(verdict, letter(input), "{input:?}");
    });
    assert_eq!((count, passed), (8_519_680, 2_490_368));
}

/// Somebody who is neither root nor this user.
struct Stranger {
    id: u32,
    is_in_entrys_group: bool,
    is_in_directorys_group: bool,
}

/// What somebody can do about the bytes that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Power {
    Nothing,
    /// Move another file of this user's to the name, while it is missing.
    Moves,
    Chooses,
}

impl Stranger {
    fn all() -> impl Iterator<Item = Stranger> {
        (0..8).map(|n| Stranger {
            id: STRANGERS[n & 1],
            is_in_entrys_group: n & 2 != 0,
            is_in_directorys_group: n & 4 != 0,
        })
    }

    /// path_resolution(7): the first class that fits decides, and no other. An owner gives itself what it lacks.
    fn may(&self, wanted: u32, what: &FileStat, is_in_group: bool) -> bool {
        let class = if is_in_group {
            what.st_mode >> 3
        } else {
            what.st_mode
        };
        self.id == what.st_uid || class & wanted == wanted
    }

    fn power(&self, input: &Input) -> Power {
        const SEARCH: u32 = 1;
        const WRITE: u32 = 2;
        let Input {
            kind,
            user,
            entry,
            directory,
        } = input;
        let may_replace = |owner: u32, directory: &FileStat| {
            directory.st_mode & 0o1000 == 0 || [owner, directory.st_uid].contains(&self.id)
        };
        let searches = self.may(SEARCH, directory, self.is_in_directorys_group);
        let makes_names = self.may(SEARCH | WRITE, directory, self.is_in_directorys_group);
        // Wherever it is, they reach it there. A directory has none.
        let has_other_name = *kind != Kind::Directory && entry.st_nlink > 1;
        let writes = (searches || has_other_name)
            && match kind {
                Kind::File => self.may(WRITE, entry, self.is_in_entrys_group),
                // Its text is there for good.
                Kind::Link => false,
                // Replaces what this user has there.
                Kind::Directory => {
                    self.may(SEARCH | WRITE, entry, self.is_in_entrys_group)
                        && may_replace(*user, entry)
                }
            };
        let replaces = makes_names && may_replace(entry.st_uid, directory);
        let has_linked = makes_names && has_other_name;
        if writes || replaces || has_linked {
            Power::Chooses
        } else if makes_names {
            Power::Moves
        } else {
            Power::Nothing
        }
    }
}

/// Why the rule refuses what nobody else could have chosen, so far as the model goes.
fn why_needless(input: &Input, fault: Fault) -> Option<usize> {
    let Input {
        kind,
        entry,
        directory,
        ..
    } = input;
    let is_half = |what: &FileStat| {
        what.st_mode & 0o022 != 0 && what.st_mode & 0o003 != 0o003 && what.st_mode & 0o030 != 0o030
    };
    let is_closed =
        directory.st_mode & 0o011 == 0 && (*kind == Kind::Directory || entry.st_nlink == 1);
    let reasons = [
        // Write is of no use without search to one and the same class; the rule looks at write alone.
        is_half(directory) || *kind == Kind::Directory && is_half(entry),
        // The text of a link is there for good, but its owner has chosen it once.
        matches!(fault, Fault::LinkOwner(_)),
        // Out of reach: who owns it may have had it open since before, and a directory is opened up with one chmod.
        is_closed,
    ];
    reasons.iter().position(|applies| *applies)
}

/// SPEC 1.4: of what passes, nobody else chooses the bytes, but for what SECURITY.md says of sticky directories.
///
/// Some is refused without need: a rule that a person checks with `ls -l` is worth more than those cases.
#[test]
fn nobody_else_chooses_the_bytes_of_what_passes() {
    let (mut safe, mut moved, mut chosen, mut needless) = (0, 0, 0, [0; 3]);
    let count = each_input(0..=0o7777, modes_of(DIRECTORY_BITS), |input| {
        let mut power = Power::Nothing;
        for stranger in Stranger::all() {
            power = power.max(stranger.power(input));
            if power == Power::Chooses {
                break;
            }
        }
        let way = judge(&input.directory, &input.directory, input.user);
        let verdict = way.and_then(|()| input.judge());
        match (verdict, power) {
            (Ok(()), Power::Nothing) => safe += 1,
            (Ok(()), Power::Moves) if input.directory.st_mode & 0o1000 != 0 => moved += 1,
            (Err(_), Power::Chooses) => chosen += 1,
            (Err(fault), _) => match why_needless(input, fault) {
                Some(reason) => needless[reason] += 1,
                None => panic!("refused without a reason: {fault:?} {input:?}"),
            },
            (verdict, power) => panic!("{verdict:?} but {power:?}: {input:?}"),
        }
    });
    assert_eq!(
        (count, safe, moved, chosen, needless),
        (
            8_519_680,
            780_800,
            268_800,
            6_221_184,
            [1_001_856, 196_608, 50_432]
        )
    );
}
