//! Who decides about edits of the working tree, and when.

/// Who decides about edits of the working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditAuthority {
    /// No edits: the mode does not fix.
    Unasked,
    /// No edits although the mode fixes, with the reason, without a period.
    NotAllowed(String),
    /// crh applies safe fixes without a question, in at most `rounds` rounds.
    SafeFixes { rounds: u32 },
    /// The user at the terminal decides.
    AsAsked(SafeFixTiming),
}

/// When an interactive review applies safe fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SafeFixTiming {
    /// After the user agrees.
    AfterAgreement,
    /// Before the first question, because the user passed `--mode interactive`.
    BeforeQuestions,
}
