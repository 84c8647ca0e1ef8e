//! The three moments of a turn, the line of JSON that a hook reads at each, and the event that a host fires.
//!
//! Knows nothing of files, processes or hooks. Each line is a literal, so nothing from a model, a tool or a checkout
//! can reach it (SPEC 3.5, 7.4).

use std::fmt;

/// A moment of a turn, as `hooks.json` names it in `on` (SPEC 1.7). There are three, and there will be no fourth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before the turn sends anything.
    TurnStarted,
    /// After one tool call has finished, whatever came of it.
    ToolFinished,
    /// When the turn is over, however it ended.
    TurnFinished,
}

impl Moment {
    /// Every moment, in the order in which a turn passes them.
    pub const ALL: [Moment; 3] = [
        Moment::TurnStarted,
        Moment::ToolFinished,
        Moment::TurnFinished,
    ];

    /// The word that `hooks.json` and the command use.
    pub const fn name(self) -> &'static str {
        match self {
            Moment::TurnStarted => "turn-started",
            Moment::ToolFinished => "tool-finished",
            Moment::TurnFinished => "turn-finished",
        }
    }

    /// The moment spelled exactly `name`; `None` for any other spelling (SPEC 1.7).
    pub fn named(name: &str) -> Option<Moment> {
        Moment::ALL.into_iter().find(|moment| moment.name() == name)
    }

    /// The line that a hook reads on its standard input, followed by end of file (SPEC 3.5).
    pub(crate) const fn line(self) -> &'static [u8] {
        match self {
            Moment::TurnStarted => b"{\"event\":\"turn-started\"}\n",
            Moment::ToolFinished => b"{\"event\":\"tool-finished\"}\n",
            Moment::TurnFinished => b"{\"event\":\"turn-finished\"}\n",
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a host fires: a moment and, where a tool has finished, the name of that tool.
///
/// The name selects entries (SPEC 2.2) and goes nowhere else: not to a hook, a report, a log or a trace (SPEC 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// [`Moment::TurnStarted`].
    TurnStarted,
    /// [`Moment::ToolFinished`]. Without a name only the entries without `tool` run.
    ToolFinished(Option<&'a str>),
    /// [`Moment::TurnFinished`].
    TurnFinished,
}

impl Event<'_> {
    /// The moment of this event.
    pub const fn moment(&self) -> Moment {
        match self {
            Event::TurnStarted => Moment::TurnStarted,
            Event::ToolFinished(_) => Moment::ToolFinished,
            Event::TurnFinished => Moment::TurnFinished,
        }
    }
}
