//! The prompt files and their slots.

use super::template::prompts;

prompts! {
    /// System prompt of all agents of a review. Contains no text of the change.
    Rules = "rules.md" {}

    /// How reviewers look for every kind of defect. `--reviewer-prompt` replaces this prompt.
    Finder = "finder.md" {}

    /// The change, as all agents see it. Every value is fenced.
    Change = "change.md" {
        /// Title, URL, author, base and head.
        about,
        /// Description by the author.
        description,
        /// Commit subjects.
        commits,
        /// Files in scope.
        files,
        /// Files out of scope and untracked files, with reasons.
        left_out,
        /// Names of the project's agent instructions.
        instructions,
        /// The numbered diff.
        diff,
        /// Files whose diff did not fit.
        not_shown,
    }

    /// The context pack.
    ContextCode = "context.md" {
        /// Code with line numbers, fenced.
        code,
    }

    /// Instructions for the orchestrator of `delegate`.
    Orchestrator = "orchestrator.md" {}

    /// Instructions for a sub-agent of `delegate`.
    SubAgent = "sub_agent.md" {
        /// How to review.
        reviewer,
        /// Its name.
        name,
        /// Label of its scope, fenced, since a model wrote it.
        label,
        /// Focus of its scope, fenced, since a model wrote it.
        focus,
        /// Its files, fenced.
        files,
    }

    /// Findings of static checks. Appended to the instructions if there are any.
    Known = "known.md" {
        /// One row per finding, fenced.
        findings,
    }

    /// Validation of findings: verdict, probability and severity.
    Validate = "validate.md" {
        /// Claims and code, fenced.
        candidates,
    }

    /// Instructions for the check of requirements.
    Requirements = "requirements.md" {
        /// Path and source of the document, fenced.
        plan,
        /// Requirements, one per row, fenced.
        items,
    }

    /// Instructions for a run with tools: how it looks things up.
    WithTools = "with_tools.md" {}

    /// Instructions for a run without tools.
    WithoutTools = "without_tools.md" {}

    /// How a review with an editor works: shared by all its reviewers.
    Panel = "panel.md" {}

    /// Stands after the diff of one part of a large change.
    ChangePart = "part.md" {
        /// Number of the part, from 1.
        number,
        /// Number of parts.
        count,
        /// Signatures of the other parts, fenced.
        signatures,
    }

    /// Instructions for a panel reviewer.
    Lens = "lens.md" {
        /// Its name.
        name,
        /// Prompt from its file.
        prompt,
        /// Intent of the change, fenced: a model or the author wrote it.
        intent,
        /// Why the reviewer was chosen, fenced, since a model may have written it.
        why,
        /// The other reviewers, fenced, since a repository may define some of them.
        others,
        /// Extra material, in fences.
        given,
        /// Its files; fenced.
        files,
        /// Whether and how it looks things up.
        lookups,
        /// Default class and owner of its findings.
        route,
        /// Maximum number of findings.
        cap,
        /// Maximum severity.
        max_severity,
    }

    /// Instructions for a panel reviewer that writes notes.
    NoteTaker = "notes.md" {
        /// Its name.
        name,
        /// Prompt from its file.
        prompt,
        /// Intent of the change, fenced.
        intent,
        /// Why the reviewer was chosen, fenced.
        why,
        /// Extra material, in fences.
        given,
        /// Its files; fenced.
        files,
        /// Whether and how it looks things up.
        lookups,
        /// Maximum number of notes.
        cap,
    }

    /// Instructions for the scout.
    Scout = "scout.md" {
        /// Linked issues, fenced.
        issues,
        /// Reviewers that it may add, with their conditions.
        candidates,
    }

    /// Instructions for the editor.
    Editor = "editor.md" {
        /// Findings with ids, fenced.
        findings,
        /// Code around the findings, fenced.
        code,
        /// Callers of the functions around the findings, fenced.
        callers,
        /// Whether and how it looks things up.
        lookups,
    }

    /// Stands after the editor's instructions if the editor may propose tests.
    ProposeTests = "tests.md" {
        /// The command that runs a test, fenced.
        command,
    }

    /// Warning for the editor about text that addresses reviewers.
    AddressedReviewers = "addressed.md" {
        /// Findings of the static check, fenced.
        findings,
    }

    /// Last line of every agent's instructions.
    Language = "language.md" {
        /// Name of the language.
        language,
    }
}
