//! The prompt files: what each is for, and what goes into it.

use super::template::prompts;

prompts! {
    /// What every agent is told before anything else: the system prompt. Nothing of the change stands in it.
    Rules = "rules.md" {}

    /// The change, as all agents of a review see it. Every value is fenced.
    Change = "change.md" {
        /// Title, author, base and head.
        about,
        /// What its author writes about it.
        description,
        /// The subjects of its commits.
        commits,
        /// The files under review.
        files,
        /// The files that are not, and why.
        left_out,
        /// The project's instructions for agents, by name.
        instructions,
        /// The numbered diff.
        diff,
        /// The files whose diff there is no room for.
        not_shown,
    }

    /// How to review: what `--reviewer-prompt` replaces.
    Reviewer = "reviewer.md" {}

    /// What the orchestrator of `delegate` does.
    Orchestrator = "orchestrator.md" {}

    /// What a sub-agent of `delegate` does.
    SubAgent = "sub_agent.md" {
        /// How to review.
        reviewer,
        /// Its name.
        name,
        /// What its part is called. It comes from the orchestrator, so it is fenced.
        label,
        /// What it should pay attention to; fenced for the same reason.
        focus,
        /// Its files, fenced.
        files,
    }

    /// What the one reviewer of `single` does.
    Single = "single.md" {
        /// How to review.
        reviewer,
        /// Code around the changed lines, each piece in a fence.
        context,
    }

    /// What programs have found in an agent's files. It stands behind the agent's instructions, and only if there is something.
    Known = "known.md" {
        /// A row for each, fenced.
        findings,
    }

    /// The second look of `single` at what it found.
    Round = "round.md" {
        /// The findings as JSON, with ids; fenced.
        candidates,
        /// What the tools answered; fenced.
        results,
    }

    /// A fresh look at what others found, without their reasons.
    Validate = "validate.md" {
        /// What they claim, and the code; fenced.
        candidates,
    }

    /// What whoever judges a plan does.
    Requirements = "requirements.md" {
        /// Where the plan is and how it was found; fenced.
        plan,
        /// What it asks for, a row each; fenced.
        items,
    }

    /// How a panel works: the same for all its reviewers, behind the change.
    Panel = "panel.md" {}

    /// Behind the diff of one part of a change that is too large for one look.
    ChangePart = "part.md" {
        /// Which part, from 1.
        number,
        /// How many there are.
        count,
        /// What the other parts declare, fenced.
        signatures,
    }

    /// What a reviewer with a lens does.
    Lens = "lens.md" {
        /// Its name.
        name,
        /// Its file without the front matter.
        prompt,
        /// What the change is for; fenced, since a model or the author wrote it.
        intent,
        /// Why it was chosen; fenced for the same reason.
        why,
        /// What it is given besides the change, each in a fence.
        given,
        /// Its files; fenced.
        files,
        /// The class and owner of its findings unless it says otherwise.
        route,
        /// The most findings.
        cap,
        /// The worst severity it may give.
        max_severity,
    }

    /// What a reviewer does that writes notes.
    NoteTaker = "notes.md" {
        /// Its name.
        name,
        /// Its file without the front matter.
        prompt,
        /// What the change is for; fenced.
        intent,
        /// Why it was chosen; fenced.
        why,
        /// What it is given besides the change, each in a fence.
        given,
        /// Its files; fenced.
        files,
        /// The most notes.
        cap,
    }

    /// What is asked before a panel is chosen.
    Scout = "scout.md" {
        /// The issues that the change is linked to; fenced.
        issues,
        /// The reviewers that could be added, by name with what calls for them.
        candidates,
    }

    /// Which findings of a panel are one.
    Pairs = "pairs.md" {
        /// The pairs with their ids; fenced.
        pairs,
    }

    /// The last line of every agent's own instructions.
    Language = "language.md" {
        /// The language's name.
        language,
    }
}
