//! Whether the number of a user names anybody in this user namespace (user_namespaces(7)).
//!
//! Who is not mapped there is shown as one number, nobody's (65534), and so are all files of whoever is not.

use std::fs;

/// Whether `user` is mapped; taken for granted where /proc does not say.
pub(crate) fn is_known(user: u32) -> bool {
    fs::read_to_string("/proc/self/uid_map").map_or(true, |map| is_mapped(&map, user))
}

/// Each line: the first number inside, the first outside, how many.
fn is_mapped(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&user.into()))
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
        assert_eq!([0, 1, 65534, 65536, 65537].map(|user| is_mapped(map, user)), [true, true, true, true, false]);
        assert!(!is_mapped("", 65534) && !is_mapped("0 1000 1\n", 65534) && !is_mapped("nonsense\n", 0));
    }
}
