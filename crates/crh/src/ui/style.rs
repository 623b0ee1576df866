//! Chooses how progress is shown, depending on whether stderr is a terminal, and on the verbosity.

use crh_os::terminal::takes_escapes;

/// How much to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Errors only.
    Quiet,
    /// Errors, warnings and progress.
    Normal,
    /// Also each run and each tool call.
    Verbose,
    /// Every event as JSON.
    Debug,
}

/// Kind of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputKind {
    /// A terminal that supports cursor movement.
    Terminal,
    /// A pipe, a file, a CI log or a dumb terminal.
    Stream,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressStyle {
    Silent,
    /// A panel that is redrawn below all other output.
    Panel(LineDetail),
    /// Lines of text.
    Lines(LineDetail),
    /// Every event as a JSON line.
    Events,
}

/// Which lines to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineDetail {
    /// Important lines, throttled.
    Brief,
    /// All lines, immediately.
    Every,
}

impl OutputKind {
    /// Detects the kind of an output. CI logs are streams even if the service provides a terminal.
    pub(super) fn detect(is_terminal: bool, ci: Option<&str>, term: Option<&str>) -> Self {
        let in_ci = ci.is_some_and(|value| !matches!(value, "" | "0" | "false"));
        let is_smart = is_terminal && !in_ci && term != Some("dumb") && takes_escapes();
        if is_smart { Self::Terminal } else { Self::Stream }
    }
}

impl ProgressStyle {
    /// The style for a verbosity and an output.
    pub(super) fn choose(verbosity: Verbosity, output: OutputKind) -> Self {
        let with_detail = |detail| match output {
            OutputKind::Terminal => Self::Panel(detail),
            OutputKind::Stream => Self::Lines(detail),
        };
        match verbosity {
            Verbosity::Quiet => Self::Silent,
            Verbosity::Normal => with_detail(LineDetail::Brief),
            Verbosity::Verbose => with_detail(LineDetail::Every),
            Verbosity::Debug => Self::Events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_logs_and_dumb_terminals_are_streams() {
        for (is_terminal, ci, term, expected) in [
            (true, None, Some("xterm-256color"), OutputKind::Terminal),
            (true, None, None, OutputKind::Terminal),
            (true, Some("false"), None, OutputKind::Terminal),
            (true, Some("0"), None, OutputKind::Terminal),
            (true, Some(""), None, OutputKind::Terminal),
            (true, Some("true"), Some("xterm"), OutputKind::Stream),
            (true, Some("woodpecker"), Some("xterm"), OutputKind::Stream),
            (true, None, Some("dumb"), OutputKind::Stream),
            (false, None, Some("xterm"), OutputKind::Stream),
        ] {
            assert_eq!(OutputKind::detect(is_terminal, ci, term), expected, "{ci:?} {term:?}");
        }
    }

    #[test]
    fn style_follows_verbosity_and_output() {
        use OutputKind::*;
        for (verbosity, output, expected) in [
            (Verbosity::Quiet, Terminal, ProgressStyle::Silent),
            (Verbosity::Quiet, Stream, ProgressStyle::Silent),
            (Verbosity::Normal, Terminal, ProgressStyle::Panel(LineDetail::Brief)),
            (Verbosity::Normal, Stream, ProgressStyle::Lines(LineDetail::Brief)),
            (Verbosity::Verbose, Terminal, ProgressStyle::Panel(LineDetail::Every)),
            (Verbosity::Verbose, Stream, ProgressStyle::Lines(LineDetail::Every)),
            (Verbosity::Debug, Terminal, ProgressStyle::Events),
            (Verbosity::Debug, Stream, ProgressStyle::Events),
        ] {
            assert_eq!(
                ProgressStyle::choose(verbosity, output),
                expected,
                "{verbosity:?} {output:?}"
            );
        }
    }
}
