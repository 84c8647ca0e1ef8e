//! What works and was probably not meant: the warnings of `check` that the text alone gives away (SPEC 8.3).
//!
//! Nothing here keeps an entry from being in force, and `fire` says nothing of it. An argument is never quoted.

use std::fmt;

use crate::argv::Argv;
use crate::escape::quoted;
use crate::near_miss;

/// One thing to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caution {
    ArgumentUnexpanded,
    Shell(String),
    ShellSyntax,
    ProgramControl,
    TimeoutAboveBound { seconds: u64, bound: u64 },
    EveryTool,
    ToolBlanks(String),
    ToolPattern(String),
    ToolMeant(String, &'static str),
    TwiceFrom { line: usize },
}

impl Caution {
    /// Of a tool's name.
    pub(crate) fn of_tool(tool: &str) -> Option<Caution> {
        if tool.trim() != tool {
            Some(Caution::ToolBlanks(tool.to_owned()))
        } else if tool.contains(['*', '?', '|', '[', '(', '^', '$', '+', ',', ' ']) {
            Some(Caution::ToolPattern(tool.to_owned()))
        } else {
            near_miss::tool(tool).map(|meant| Caution::ToolMeant(tool.to_owned(), meant))
        }
    }

    /// Of the words of a program: a caution, and the index of the word.
    pub(crate) fn of_words(run: &Argv) -> Vec<(usize, Caution)> {
        let words = run.words().iter().map(|word| word.to_bytes());
        let unexpanded = words
            .enumerate()
            .skip(1)
            .filter(|(_, word)| word.starts_with(b"~/") || word.starts_with(b"$"));
        let is_syntax = |word: &[u8]| {
            [
                &b"|"[..],
                b"||",
                b"&",
                b"&&",
                b";",
                b">",
                b">>",
                b"<",
                b"2>",
                b"2>&1",
            ]
            .contains(&word)
        };
        let mut cautions: Vec<_> = unexpanded
            .map(|(index, _)| (index, Caution::ArgumentUnexpanded))
            .collect();
        let syntax = run
            .words()
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, word)| is_syntax(word.to_bytes()));
        cautions.extend(syntax.map(|(index, _)| (index, Caution::ShellSyntax)));
        if run.program().contains(char::is_control) {
            cautions.push((0, Caution::ProgramControl));
        }
        let name = run.program().rsplit('/').next().unwrap_or_default();
        let is_shell = ["sh", "bash", "dash", "zsh", "ksh", "fish"].contains(&name);
        let takes_text = |word: &[u8]| {
            word.starts_with(b"-") && !word.starts_with(b"--") && word.ends_with(b"c")
        };
        if is_shell
            && run
                .words()
                .iter()
                .skip(1)
                .take(2)
                .any(|word| takes_text(word.to_bytes()))
        {
            // Then what looks unexpanded is for the shell to expand.
            cautions.clear();
            cautions.push((0, Caution::Shell(run.program().to_string())));
        }
        cautions
    }
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caution::ArgumentUnexpanded => f.write_str(
                "an argument begins with \"~/\" or \"$\", and nothing expands it; write the whole path, or the value",
            ),
            Caution::ShellSyntax => f.write_str(
                "an argument is a sign of the shell, and no shell reads it; write [\"sh\", \"-c\", \"...\"] if one should",
            ),
            Caution::ProgramControl => f.write_str(
                "the program holds a control character; in JSON a backslash is written \\\\, and \\t is a tab",
            ),
            Caution::Shell(program) => write!(
                f,
                "{} with -c is a shell, named on purpose: its quoting decides again what the next argument means",
                quoted(program)
            ),
            Caution::TimeoutAboveBound { seconds, bound } => {
                write!(f, "a timeout of {seconds} s is above the bound; {bound} s hold")
            }
            Caution::EveryTool => f.write_str("runs after every tool call, since it names no \"tool\""),
            Caution::ToolBlanks(tool) => {
                write!(f, "{} has blanks around it, and is compared byte for byte; take them out", quoted(tool))
            }
            Caution::ToolPattern(tool) => write!(
                f,
                "{} is compared byte for byte, and is no pattern or list; write an entry a tool, or leave it out for every tool",
                quoted(tool)
            ),
            Caution::ToolMeant(tool, meant) => {
                write!(f, "{} is compared byte for byte; did you mean \"{meant}\"?", quoted(tool))
            }
            Caution::TwiceFrom { line } => write!(f, "the same as the entry on line {line}, so it runs twice"),
        }
    }
}
