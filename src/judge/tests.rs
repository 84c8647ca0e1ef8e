//! Every input, against the letter of SPEC 1.4 and against what another user of the machine could do.

use super::*;

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

    /// As stat(2) gives the mode.
    fn bits(self) -> u32 {
        match self {
            Kind::File => 0o100_000,
            Kind::Link => 0o120_000,
            Kind::Directory => 0o040_000,
        }
    }

    fn judge(self, entry: &Facts, directory: &Facts) -> Result<(), Fault> {
        match self {
            Kind::File => judge_file(entry, directory),
            Kind::Link => judge_link(entry, directory),
            Kind::Directory => judge_directory(entry),
        }
    }
}

/// Calls `each` with everything that there is of an entry in a directory: its kind, this user (root, another), the owner
/// of either (root, this user, a third), how many links, and these modes. Says how many that were.
fn each_input(
    modes: impl Iterator<Item = u32> + Clone,
    directory_modes: impl Iterator<Item = u32> + Clone,
    mut each: impl FnMut(Kind, &Facts, &Facts),
) -> u64 {
    let mut count = 0;
    let users: [(u32, &[u32]); 2] = [(0, &[0, STRANGERS[0]]), (USER, &[0, USER, STRANGERS[0]])];
    for kind in Kind::ALL {
        for (user, owners) in users {
            for (mode, &owner) in directory_modes
                .clone()
                .flat_map(|mode| owners.iter().map(move |owner| (mode, owner)))
            {
                let directory = Facts {
                    owner,
                    mode: Kind::Directory.bits() | mode,
                    links: 2,
                    user,
                };
                for mode in modes.clone() {
                    for &owner in owners {
                        // Directories have no other name.
                        for links in 1..=if kind == Kind::Directory { 1 } else { 2 } {
                            each(
                                kind,
                                &Facts {
                                    owner,
                                    mode: kind.bits() | mode,
                                    links,
                                    user,
                                },
                                &directory,
                            );
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
    let without = |facts: &Facts, bits: u32| Facts {
        mode: facts.mode & (bits | !0o7777),
        ..*facts
    };
    // A fault quotes the mode.
    let plain = |verdict: Result<(), Fault>| match verdict {
        Err(Fault::Writable { owner, .. }) => Err(Fault::Writable { owner, mode: 0 }),
        verdict => verdict,
    };
    let mut count = each_input(
        modes_of(ENTRY_BITS),
        0..=0o7777,
        |kind, entry, directory| {
            let expected = plain(kind.judge(entry, &without(directory, DIRECTORY_BITS)));
            assert_eq!(
                plain(kind.judge(entry, directory)),
                expected,
                "{kind:?} {entry:?} {directory:?}"
            );
        },
    );
    // Every mode of a file with every mode of its directory, where the owner does not decide.
    for mode in 0..=0o7777 {
        let file = Facts {
            owner: USER,
            mode: Kind::File.bits() | mode,
            links: 1,
            user: USER,
        };
        let bare = without(&file, ENTRY_BITS);
        for mode in 0..=0o7777 {
            let directory = Facts {
                owner: USER,
                mode: Kind::Directory.bits() | mode,
                links: 2,
                user: USER,
            };
            let expected = judge_file(&bare, &without(&directory, DIRECTORY_BITS)).is_ok();
            assert!(
                judge_file(&file, &directory).is_ok() == expected,
                "{file:?} {directory:?}"
            );
            count += 1;
        }
    }
    assert_eq!(count, 18_907_136);
}

/// The verdict as SPEC 1.4 words it, from the digits that chmod(1) takes.
fn letter(kind: Kind, entry: &Facts, directory: &Facts) -> Result<(), Fault> {
    const WRITE: [u32; 4] = [2, 3, 6, 7];
    const SEARCH: [u32; 4] = [1, 3, 5, 7];
    let digits = |facts: &Facts| [9, 6, 3, 0].map(|shift| facts.mode >> shift & 7);
    let ([special, _, group, others], [_, _, directory_group, directory_others]) =
        (digits(entry), digits(directory));
    let is_ours = [0, entry.user].contains(&entry.owner);
    let is_writable = WRITE.contains(&group) || WRITE.contains(&others);
    let is_sticky = special % 2 == 1;
    let is_closed = !SEARCH.contains(&directory_group) && !SEARCH.contains(&directory_others);
    let is_shared = WRITE.contains(&directory_group) || WRITE.contains(&directory_others);
    let Facts { owner, links, .. } = *entry;
    match (kind, is_ours) {
        // "must belong to root or this user", "when the link itself belongs to root or this user"
        (Kind::File | Kind::Directory, false) => Err(Fault::Owner { owner }),
        (Kind::Link, false) => Err(Fault::LinkOwner { owner }),
        // "A sticky directory passes."
        (Kind::Directory, true) if is_sticky || !is_writable => Ok(()),
        // "still passes when its link count is 1 and the directory it lies in gives neither group nor others the search bit"
        (Kind::File, true) if is_writable && links == 1 && is_closed => Ok(()),
        // "neither the other-write nor the group-write bit"
        (Kind::File | Kind::Directory, true) if is_writable => Err(Fault::Writable {
            owner,
            mode: entry.mode % 0o10000,
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
    let count = each_input(
        0..=0o7777,
        modes_of(DIRECTORY_BITS),
        |kind, entry, directory| {
            let verdict = kind.judge(entry, directory);
            passed += u64::from(verdict.is_ok());
            assert_eq!(
                verdict,
                letter(kind, entry, directory),
                "{kind:?} {entry:?} {directory:?}"
            );
        },
    );
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
    fn may(&self, wanted: u32, what: &Facts, is_in_group: bool) -> bool {
        let class = if is_in_group {
            what.mode >> 3
        } else {
            what.mode
        };
        self.id == what.owner || class & wanted == wanted
    }

    fn power(&self, kind: Kind, entry: &Facts, directory: &Facts) -> Power {
        const SEARCH: u32 = 1;
        const WRITE: u32 = 2;
        let may_replace = |owner: u32, directory: &Facts| {
            directory.mode & 0o1000 == 0 || [owner, directory.owner].contains(&self.id)
        };
        let searches = self.may(SEARCH, directory, self.is_in_directorys_group);
        let makes_names = self.may(SEARCH | WRITE, directory, self.is_in_directorys_group);
        // Wherever it is, they reach it there. A directory has none.
        let has_other_name = kind != Kind::Directory && entry.links > 1;
        let writes = (searches || has_other_name)
            && match kind {
                Kind::File => self.may(WRITE, entry, self.is_in_entrys_group),
                // Its text is there for good.
                Kind::Link => false,
                // Replaces what this user has there.
                Kind::Directory => {
                    self.may(SEARCH | WRITE, entry, self.is_in_entrys_group)
                        && may_replace(entry.user, entry)
                }
            };
        let replaces = makes_names && may_replace(entry.owner, directory);
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
fn why_needless(kind: Kind, entry: &Facts, directory: &Facts, fault: Fault) -> Option<usize> {
    let is_half = |what: &Facts| {
        what.mode & 0o022 != 0 && what.mode & 0o003 != 0o003 && what.mode & 0o030 != 0o030
    };
    let is_closed = directory.mode & 0o011 == 0 && (kind == Kind::Directory || entry.links == 1);
    let reasons = [
        // Write is of no use without search to one and the same class; the rule looks at write alone.
        is_half(directory) || kind == Kind::Directory && is_half(entry),
        // The text of a link is there for good, but its owner has chosen it once.
        matches!(fault, Fault::LinkOwner { .. }),
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
    let count = each_input(
        0..=0o7777,
        modes_of(DIRECTORY_BITS),
        |kind, entry, directory| {
            let mut power = Power::Nothing;
            for stranger in Stranger::all() {
                power = power.max(stranger.power(kind, entry, directory));
                if power == Power::Chooses {
                    break;
                }
            }
            match (
                judge_directory(directory).and_then(|()| kind.judge(entry, directory)),
                power,
            ) {
                (Ok(()), Power::Nothing) => safe += 1,
                (Ok(()), Power::Moves) if directory.mode & 0o1000 != 0 => moved += 1,
                (Err(_), Power::Chooses) => chosen += 1,
                (Err(fault), _) => match why_needless(kind, entry, directory, fault) {
                    Some(reason) => needless[reason] += 1,
                    None => panic!(
                        "refused without a reason: {fault:?} {kind:?} {entry:?} {directory:?}"
                    ),
                },
                (verdict, power) => {
                    panic!("{verdict:?} but {power:?}: {kind:?} {entry:?} {directory:?}")
                }
            }
        },
    );
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
