//! How a review shows what it does: chosen once, from what standard error is and what the user asked for.

/// How much the user wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Nothing but errors.
    Quiet,
    /// What a person wants to know.
    Usual,
    /// Each run and each call of a tool too.
    Verbose,
    /// Every event, for programs.
    Debug,
}

/// What standard error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// A terminal that can draw over what it has shown.
    Terminal,
    /// A pipe, a file, a log of CI, or a terminal that can only go on.
    Stream,
}

/// How a review shows what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    /// Not at all.
    Silent,
    /// A panel below everything else, drawn again and again; what stays is printed above it.
    Panel(Detail),
    /// Lines, one after the other.
    Lines(Detail),
    /// Every event as a line of JSON.
    Events,
}

/// Which lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Few, and not too fast.
    Brief,
    /// All of them, at once.
    Every,
}

impl Channel {
    /// What standard error is, by what is known about it. A log of CI is read later and in full, even where the
    /// service pretends to be a terminal.
    pub(super) fn of(is_terminal: bool, ci: Option<&str>, term: Option<&str>) -> Self {
        let in_ci = ci.is_some_and(|value| !matches!(value, "" | "0" | "false"));
        if is_terminal && !in_ci && term != Some("dumb") { Self::Terminal } else { Self::Stream }
    }
}

impl Face {
    /// The face for what the user asked for.
    pub(super) fn of(verbosity: Verbosity, channel: Channel) -> Self {
        let shown = |detail| match channel {
            Channel::Terminal => Self::Panel(detail),
            Channel::Stream => Self::Lines(detail),
        };
        match verbosity {
            Verbosity::Quiet => Self::Silent,
            Verbosity::Usual => shown(Detail::Brief),
            Verbosity::Verbose => shown(Detail::Every),
            Verbosity::Debug => Self::Events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_that_a_person_looks_at_is_drawn_over() {
        for (is_terminal, ci, term, expected) in [
            (true, None, Some("xterm-256color"), Channel::Terminal),
            (true, None, None, Channel::Terminal),
            (true, Some("false"), None, Channel::Terminal),
            (true, Some("0"), None, Channel::Terminal),
            (true, Some(""), None, Channel::Terminal),
            (true, Some("true"), Some("xterm"), Channel::Stream),
            (true, Some("woodpecker"), Some("xterm"), Channel::Stream),
            (true, None, Some("dumb"), Channel::Stream),
            (false, None, Some("xterm"), Channel::Stream),
        ] {
            assert_eq!(Channel::of(is_terminal, ci, term), expected, "{ci:?} {term:?}");
        }
    }

    #[test]
    fn the_face_is_what_the_user_asked_for() {
        use Channel::*;
        for (verbosity, channel, expected) in [
            (Verbosity::Quiet, Terminal, Face::Silent),
            (Verbosity::Quiet, Stream, Face::Silent),
            (Verbosity::Usual, Terminal, Face::Panel(Detail::Brief)),
            (Verbosity::Usual, Stream, Face::Lines(Detail::Brief)),
            (Verbosity::Verbose, Terminal, Face::Panel(Detail::Every)),
            (Verbosity::Verbose, Stream, Face::Lines(Detail::Every)),
            (Verbosity::Debug, Terminal, Face::Events),
            (Verbosity::Debug, Stream, Face::Events),
        ] {
            assert_eq!(Face::of(verbosity, channel), expected, "{verbosity:?} {channel:?}");
        }
    }
}
