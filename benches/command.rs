//! What the command costs as a whole process: wall, instructions, peak memory, size.
//!
//! `cargo bench --bench command [-- ROUNDS]`; `SEED` repeats an order. Beside it are empty programs, and one that is
//! empty but for the floor, linked as the command is: what the loader and the runtime cost is in both.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod contest;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn main() {
    linux::main();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod linux {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use crate::contest::floor::Program;
    use crate::contest::place::{Place, environment};
    use crate::contest::{Contest, Random, rounds, target, timed};

    const COMMAND: &str = env!("CARGO_BIN_EXE_bravebot-hooks");
    const AT_ONCE: &str = "int main(void) { return 0; }";
    const EMPTY: &str = "fn main() {}";
    /// posix_spawn(3) and waitpid(2) of its first argument.
    const FLOOR: &str = r#"
        use std::ffi::{c_char, c_int, c_void, CString};
        use std::os::unix::ffi::OsStringExt;
        use std::ptr::null;
        unsafe extern "C" {
            static environ: *const *const c_char;
            fn posix_spawn(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void,
                           words: *const *const c_char, environment: *const *const c_char) -> c_int;
            fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
        }
        fn main() {
            let path = CString::new(std::env::args_os().nth(1).unwrap().into_vec()).unwrap();
            let words = [path.as_ptr(), null()];
            let (mut pid, mut status) = (0, 0);
            unsafe { posix_spawn(&mut pid, path.as_ptr(), null(), null(), words.as_ptr(), environ) };
            unsafe { waitpid(pid, &mut status, 0) };
        }"#;
    /// Prints the peak memory in KB of the command it runs. Small itself: what a process was before execve(2) counts.
    const PEAK: &str = "#include <stdio.h>
        #include <sys/resource.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(int count, char **words) {
            if (count < 2) return 1;
            if (fork() == 0) { execv(words[1], words + 1); _exit(127); }
            int status;
            struct rusage usage;
            if (wait4(-1, &status, 0, &usage) < 0 || status != 0) return 1;
            printf(\"%ld\\n\", usage.ru_maxrss);
            return 0;
        }";

    const NO_FILE: &str = "fire, no file";
    const NO_MATCH: &str = "fire, no match";
    const ONE_HOOK: &str = "fire, one hook";
    const SHELL_EXEC: &str = "sh -c 'exec PROGRAM'";

    /// A command line, and the environment it gets.
    struct Line {
        name: &'static str,
        path: PathBuf,
        arguments: Vec<String>,
        environment: Vec<(String, String)>,
    }

    impl Line {
        fn program(&self) -> Program {
            let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
            Program::new(&self.path, &arguments, self.environment.iter().cloned())
        }

        /// The command line after these words, in the same environment.
        fn after(&self, words: &[&str]) -> Command {
            let mut command = Command::new(words[0]);
            command
                .args(&words[1..])
                .arg(&self.path)
                .args(&self.arguments);
            command.env_clear().envs(self.environment.iter().cloned());
            command
        }

        /// Instructions of the process itself, without those of the kernel and of what it starts.
        fn instructions(&self) -> Option<f64> {
            let words = [
                "valgrind",
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
            ];
            let output = self.after(&words).output().ok()?;
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            text.lines()
                .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
        }

        fn peak(&self, peak: &Path) -> f64 {
            let output = self.after(&[peak.to_str().unwrap()]).output().unwrap();
            String::from_utf8_lossy(&output.stdout)
                .trim()
                .parse()
                .unwrap_or_else(|_| panic!("{}: {output:?}", self.name))
        }
    }

    pub(super) fn main() {
        let mut random = Random::new();
        let rounds = rounds(1500);
        let place = Place::new();
        let at_once = place.c("at-once", AT_ONCE);
        let peak = place.c("peak", PEAK);
        let name = at_once.to_str().unwrap();
        let hooks =
            serde_json::json!({"hooks": [{"on": "turn-finished", "run": [name]}]}).to_string();
        // Names of one length, so that the environment is the same size for all.
        let [none, hook] = [("home-1", None), ("home-2", Some(&*hooks))]
            .map(|(name, hooks)| place.home(name, hooks));
        let line = |name, path: &Path, arguments: &[&str], home: &Path| {
            let arguments = arguments.iter().map(ToString::to_string).collect();
            Line {
                name,
                path: path.to_owned(),
                arguments,
                environment: environment(home),
            }
        };

        let [linked, other] = [LINKED_STATICALLY, LINKED_DYNAMICALLY].map(|flags| {
            let suffix = if flags == LINKED_STATICALLY {
                "static"
            } else {
                "dynamic"
            };
            ["empty", "floor"].map(|name| {
                place.rust(
                    &format!("{name}-{suffix}"),
                    if name == "empty" { EMPTY } else { FLOOR },
                    flags,
                )
            })
        });
        let is_static = !is_dynamic(Path::new(COMMAND));
        let ([empty, floor], [other_empty, _]) = if is_static {
            (linked, other)
        } else {
            (other, linked)
        };
        let [empty_name, other_name, floor_name] = if is_static {
            [
                "an empty Rust program, static",
                "an empty Rust program, dynamic",
                "that and the floor, static",
            ]
        } else {
            [
                "an empty Rust program, dynamic",
                "an empty Rust program, static",
                "that and the floor, dynamic",
            ]
        };
        let shell = Path::new("/bin/sh");
        let command = Path::new(COMMAND);
        let lines = [
            line(empty_name, &empty, &[], &none),
            line(other_name, &other_empty, &[], &none),
            line(floor_name, &floor, &[name], &none),
            line(NO_FILE, command, &["fire", "turn-finished"], &none),
            line(NO_MATCH, command, &["fire", "turn-started"], &hook),
            line(ONE_HOOK, command, &["fire", "turn-finished"], &hook),
            line("sh -c true", shell, &["-c", "true"], &none),
            line(SHELL_EXEC, shell, &["-c", &format!("exec {name}")], &none),
        ];

        let programs: Vec<Program> = lines.iter().map(Line::program).collect();
        let mut contest = Contest::default();
        for (line, program) in lines.iter().zip(&programs) {
            contest = contest.with(line.name, || timed(|| program.run()));
        }
        let outcome = contest.run("the command as a process, wall", rounds, &mut random);
        if is_static {
            outcome.target(ONE_HOOK, SHELL_EXEC, 1.05);
        } else {
            outcome.target(ONE_HOOK, floor_name, 1.1);
        }

        let mut contest = Contest::default();
        for line in &lines {
            contest = contest.with(line.name, || line.peak(&peak));
        }
        let outcome = contest.run("peak memory", rounds.min(15), &mut random);
        for name in [NO_FILE, NO_MATCH, ONE_HOOK] {
            outcome.target(name, empty_name, 1.2);
        }

        // Of what replaces itself valgrind counts nothing.
        let counted: Vec<&Line> = lines
            .iter()
            .filter(|line| line.instructions().is_some())
            .collect();
        if counted.is_empty() {
            println!("\ninstructions: needs valgrind");
        } else {
            let mut contest = Contest::default();
            for line in counted {
                contest = contest.with(line.name, || line.instructions().expect("valgrind counts"));
            }
            let outcome = contest.run(
                "instructions of the process itself",
                rounds.min(3),
                &mut random,
            );
            outcome.target(NO_FILE, empty_name, 1.15);
            outcome.target(ONE_HOOK, floor_name, 1.1);
        }

        println!("\nsize");
        let most = if is_static { 1500.0 } else { 600.0 };
        target(
            "the stripped command, KB",
            std::fs::metadata(COMMAND).unwrap().len() as f64 / 1000.0,
            most,
        );
    }

    const LINKED_STATICALLY: &[&str] = &["-Ctarget-feature=+crt-static"];
    const LINKED_DYNAMICALLY: &[&str] = &["-Ctarget-feature=-crt-static"];

    /// Whether a program names a dynamic loader: one of its program headers is PT_INTERP (elf(5), 64 bits).
    fn is_dynamic(program: &Path) -> bool {
        const PT_INTERP: u32 = 3;
        let bytes = std::fs::read(program).unwrap();
        let short = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
        let (first, size, count) = (
            u64::from_ne_bytes(bytes[32..40].try_into().unwrap()),
            short(54),
            short(56),
        );
        (0..count)
            .any(|nth| bytes[first as usize + nth * size..].starts_with(&PT_INTERP.to_ne_bytes()))
    }
}
