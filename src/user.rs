//! Whether the number of a user names anybody in this user namespace (user_namespaces(7)).
//!
//! Who is not mapped there is shown as one number, nobody's (65534), and so are all files of whoever is not.

use std::fs;

/// Whether `user` is mapped, and is not the number by which all are shown who are not; taken for granted where /proc does
/// not say.
pub(crate) fn is_known(user: u32) -> bool {
    let Ok(map) = fs::read_to_string("/proc/self/uid_map") else {
        return true;
    };
    let nobody = fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
    let nobody = nobody
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(65534);
    is_mapped(&map, user) && (user != nobody || is_whole(&map))
}

/// Whether everybody is mapped, as outside of any namespace.
fn is_whole(map: &str) -> bool {
    let counts = map
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(2)?.parse::<u64>().ok());
    counts.sum::<u64>() == u64::from(u32::MAX)
}

/// The number of `user` outside of this user namespace; the same where it has none there.
pub(crate) fn outside(user: u32) -> u64 {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    mapped(&map, user).unwrap_or(user.into())
}

fn is_mapped(map: &str, user: u32) -> bool {
    mapped(map, user).is_some()
}

/// Each line: the first number inside, the first outside, how many.
fn mapped(map: &str, user: u32) -> Option<u64> {
    map.lines().find_map(|line| {
        let numbers: Vec<u64> = line
            .split_ascii_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        let [inside, outside, count] = numbers[..] else {
            return None;
        };
        u64::from(user)
            .checked_sub(inside)
            .filter(|nth| *nth < count)
            .map(|nth| outside + nth)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC 1.4, user_namespaces(7).
    #[test]
    fn a_user_is_known_where_a_range_of_the_map_has_its_number() {
        assert!(is_mapped("         0          0 4294967295\n", 65534));
        let map = "0 1000 1\n1 100000 65536\n";
        assert_eq!(
            [0, 1, 65534, 65536, 65537].map(|user| is_mapped(map, user)),
            [true, true, true, true, false]
        );
        assert!(is_whole("         0          0 4294967295\n") && !is_whole(map) && !is_whole(""));
        assert_eq!(
            [0, 3, 65537].map(|user| mapped(map, user)),
            [Some(1000), Some(100_002), None]
        );
        assert!(
            !is_mapped("", 65534) && !is_mapped("0 1000 1\n", 65534) && !is_mapped("nonsense\n", 0)
        );
    }
}
