//! Rejects findings that ask to delete, clean up or ignore documents that other tools depend on.
//!
//! Only a request counts, in the title or the suggested fix: a command such as "delete X" or "do not
//! commit X", or a statement such as "X should be deleted" or "X does not belong in the repository".
//! Both ask to remove the document, or not to keep it. A finding *about* such a deletion is kept. So
//! is a request not to delete, and a request to remove something else that names the document:
//! "remove the heading in X", "remove the loop over X". A word that is not in the lists keeps the
//! finding: noise costs less than a hidden problem.

use crate::finding::Finding;

// The words of a list are separated by spaces.

/// Verbs that ask to remove a file.
const REMOVE_VERBS: &str = "\
    axe cleanup delete discard drop erase gitignore kill nuke prune purge remove retire revert rm \
    scrap strip trash unlink untrack wipe";
/// Verbs that ask to remove a file only in a sentence about the repository. In a sentence about
/// code, they ask to skip the file.
const SKIP_VERBS: &str = "exclude ignore omit";
/// Verbs with a particle that ask to remove a file. The object may stand between the two words.
const PHRASAL_VERBS: &[(&str, &str)] = &[
    ("clean", "up"),
    ("clear", "out"),
    ("get", "rid"),
    ("leave", "out"),
    ("leaving", "out"),
    ("left", "out"),
    ("take", "out"),
    ("taken", "out"),
    ("throw", "away"),
    ("throw", "out"),
    ("thrown", "away"),
    ("thrown", "out"),
];
/// Verbs that ask to remove a file if its new place is outside of the repository.
const MOVE_VERBS: &str = "keep kept migrate move put relocate shift store transfer";
/// Verbs about a place whose subject is the file: "X should live elsewhere".
const STAY_VERBS: &str = "belong belongs live remain stay";
/// Verbs about a new place whose subject is the file: "X should move elsewhere".
const LEAVE_VERBS: &str = "go move";
/// Words after "go" in "X can go away".
const LEAVE_WORDS: &str = "away altogether entirely now too";
/// Words before another repository: "to a separate repository".
const OTHER_WORDS: &str = "another different other own separate";
/// Places outside of the repository, and places that are outside after one of [`OTHER_WORDS`].
const OUTSIDE_PLACES: &str = "confluence notion tracker wiki";
const OTHER_PLACES: &str = "project repo repository";
/// Nouns in "X needs removal", besides verbs in "X needs deleting".
const REMOVAL_NOUNS: &str = "clean-up cleanup deletion removal";
/// Verbs that ask to add a line. Such a request counts only if the line goes into `.gitignore`.
const ADD_VERBS: &str = "add append list put";
/// Verbs that keep a file in the repository. Asking not to do so asks to remove it.
const COMMIT_VERBS: &str = "commit track version";
/// Verbs that keep a file in the repository if that is the place that follows: "into git".
const KEEP_VERBS: &str = "add check include keep push";
/// Words that negate a request, such as "stop" in "stop tracking X". So do verbs that end in "n't".
const NEGATIONS: &str = "avoid longer never no not stop";
/// Prepositions before the place where something is kept, and before another purpose.
const KEEP_PREPOSITIONS: &str = "for from in into of on to under";
/// Words that can precede the request.
const FILLER_WORDS: &str = "\
    also and better by can consider could either git i instead it just maybe might must or \
    perhaps please recommend run should simply so suggest the then to want we would you";
/// Words before "be" in a request such as "X can be deleted". "Not" after them states a fact: "X may
/// not be committed yet".
const MODAL_WORDS: &str = "can could may might";
/// Words before "be", "not" or "to be" in a request such as "X should not be committed".
const DUTY_WORDS: &str = "must need needs ought shall should";
/// Words for a document that the finding or the text has named before.
const DOCUMENT_WORDS: &str = "\
    directory doc docs document documents file files folder it plan plans them";
/// Words for the document that the text named before.
const PRONOUNS: &str = "it them";
/// Words for all documents of a folder, or for the whole of one: "everything in docs/plans", "the
/// addition of docs/plans/x.md".
const WHOLE_WORDS: &str = "addition all anything content contents everything";
/// Words around a path that keep the document the object of the request. With any other word, the
/// object is something else, such as "the loop over docs/plans" and "the docs/plans/x.md link".
const PLAIN_WORDS: &str = "\
    a all an any brainstorm committed dead design draft drafts each entire every internal local \
    markdown new note notes obsolete old outdated planning solution solutions stale superseded \
    temporary the these this those unneeded unnecessary unrelated unused whole working";
/// Prepositions before the folder of a document.
const FOLDER_PREPOSITIONS: &str = "from in inside under within";
/// Words before a whole or a place, as in "the heading in X".
const PREPOSITIONS: &str = "\
    about at below between by for from in inside into of on onto out to under with within";
/// Other words that end a noun phrase.
const PHRASE_ENDS: &str = "\
    again altogether and are as away because before after here if instead is later looks now \
    once or outright seems since so soon that too until up was were when which will";
/// Places for which "remove X from PLACE" removes the file itself. A bare "index" may be that of a
/// search.
const REPOSITORY_WORDS: &str = "\
    branch change commit control diff disk folder git main pr project pull repo \
    repository there tracking tree";
/// Maximum number of words after "from" up to its object: "from the main repository".
const MAX_WORDS_TO_PLACE: usize = 3;
/// Maximum number of words after a verb up to its particle: "throw this old plan away".
const MAX_WORDS_TO_PARTICLE: usize = 6;
/// Maximum number of words after "be" up to the participle: "be simply deleted".
const MAX_WORDS_TO_PARTICIPLE: usize = 2;

/// Whether a finding asks to delete or ignore a protected document.
pub(crate) fn asks_to_remove_protected(finding: &Finding) -> bool {
    let in_gitignore = finding.file.ends_with(".gitignore");
    let replacement_lines = finding.replacement.iter().flat_map(|text| text.lines());
    let mut ignored_paths = replacement_lines.map(|line| line.trim().trim_start_matches('/'));
    if in_gitignore && ignored_paths.any(is_protected) {
        return true;
    }
    let texts = [Some(finding.title.as_str()), finding.suggested_fix.as_deref()];
    texts.into_iter().flatten().any(|text| {
        let known_document = match is_protected(&finding.file) {
            true => KnownDocument::OfFinding,
            false if is_about_document(text) => KnownDocument::OfText,
            false => KnownDocument::None,
        };
        sentences(text).any(|sentence| {
            let edits_gitignore = in_gitignore || sentence.to_lowercase().contains("gitignore");
            let words: Vec<&str> = sentence.split_whitespace().collect();
            let is_repository_word = |word: &&str| is_one_of(REPOSITORY_WORDS, &bare_word(word));
            let is_about_repository = edits_gitignore
                || known_document == KnownDocument::OfFinding
                || words.iter().any(is_repository_word);
            let context = RequestContext { known_document, edits_gitignore, is_about_repository };
            context.commands_removal(&words)
                || context.states_removal(&words)
                || context.continues_with_removal(&words)
        })
    })
}

/// Whether a text starts a sentence with a document, perhaps after a verb: "docs/plans/x.md is
/// stale", "move docs/plans/x.md away". Other texts, such as "the loop over docs/plans is wrong",
/// are about code that uses it.
fn is_about_document(text: &str) -> bool {
    let context = RequestContext {
        known_document: KnownDocument::None,
        edits_gitignore: false,
        is_about_repository: false,
    };
    sentences(text).any(|sentence| {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        (0..=1).any(|verb_count| {
            let words = words.get(verb_count..).unwrap_or_default();
            context.names_document(words, PlaceRule::Removal)
        })
    })
}

/// A protected document that "it" or "this file" may mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownDocument {
    /// The finding is in it.
    OfFinding,
    /// The text is about it. Only a pronoun means it: "the file" may be another one.
    OfText,
    None,
}

/// Which place may follow the object of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceRule {
    /// Any, but a place after "from" must be in the repository: "remove X from git".
    Removal,
    /// Any, but a place that the file is brought to must be in the repository: "commit X to git".
    Commit,
    /// Only a place in the repository: "keep X in git", "check X in", "keep X here".
    Keep,
}

/// What a sentence may refer to.
struct RequestContext {
    known_document: KnownDocument,
    edits_gitignore: bool,
    is_about_repository: bool,
}

impl RequestContext {
    /// Whether a sentence starts with the request: "delete X", "consider removing X", "do not
    /// commit X".
    fn commands_removal(&self, words: &[&str]) -> bool {
        let is_filler = |word: &&&str| is_one_of(FILLER_WORDS, &bare_word(word));
        let filler_count = words.iter().take_while(is_filler).count();
        let (is_negated, request) = split_negation(&words[filler_count..]);
        self.asks_removal(request, is_negated, |words, rule| self.names_document(words, rule))
    }

    /// Whether a request, which starts with its verb, is to remove a document, or not to keep it.
    /// `names_object` says whether the words after the verb fit, by the rule for a place.
    fn asks_removal(
        &self,
        request: &[&str],
        is_negated: bool,
        names_object: impl Fn(&[&str], PlaceRule) -> bool,
    ) -> bool {
        let Some((verb, object)) = request.split_first() else { return false };
        let verb = bare_word(verb);
        if is_negated {
            return match object {
                ["in", object @ ..] if is_form_of(&verb, "check") => {
                    names_object(object, PlaceRule::Commit)
                }
                _ if is_form_of(&verb, COMMIT_VERBS) => names_object(object, PlaceRule::Commit),
                _ => is_form_of(&verb, KEEP_VERBS) && names_object(object, PlaceRule::Keep),
            };
        }
        if self.edits_gitignore && is_form_of(&verb, ADD_VERBS) {
            // "Add a rule for docs/plans/".
            let is_path = |word: &&str| is_protected(word_as_path(word));
            return object.iter().any(is_path) || names_object(object, PlaceRule::Removal);
        }
        let bare_object: Vec<String> = object.iter().map(|word| bare_word(word)).collect();
        let destination = destination(&verb, &bare_object);
        if let (Some(end), true) = (destination, is_form_of(&verb, MOVE_VERBS)) {
            return names_object(&object[..end], PlaceRule::Removal);
        }
        let particle = object
            .iter()
            .take(MAX_WORDS_TO_PARTICLE)
            .position(|word| is_phrasal_verb(&verb, &bare_word(word)));
        let object = match particle {
            Some(0) => object[1..].strip_prefix(&["of"]).unwrap_or(&object[1..]),
            Some(end) => &object[..end],
            None if self.is_removal_verb(&verb) => object,
            None => return false,
        };
        names_object(object, PlaceRule::Removal)
    }

    fn is_removal_verb(&self, word: &str) -> bool {
        is_form_of(word, REMOVE_VERBS) || self.is_about_repository && is_form_of(word, SKIP_VERBS)
    }

    /// Whether a later part of a sentence is the request: "move X away and delete it".
    fn continues_with_removal(&self, words: &[&str]) -> bool {
        let is_conjunction = |word: &&str| matches!(bare_word(word).as_str(), "and" | "then");
        words.split(is_conjunction).skip(1).any(|clause| {
            // Here "the file" can be any file that the sentence names.
            let is_clear = self.known_document == KnownDocument::OfFinding
                || clause.iter().any(|word| is_one_of(PRONOUNS, &bare_word(word)))
                    && !words.windows(2).any(|pair| {
                        is_one_of(PREPOSITIONS, &bare_word(pair[0]))
                            && is_protected(word_as_path(pair[1]))
                    })
                || clause.iter().any(|word| is_protected(word_as_path(word)));
            is_clear && self.commands_removal(clause)
        })
    }

    /// Whether a sentence says what should happen to a document: "X should be deleted", "X should
    /// not be committed", "X does not belong here".
    fn states_removal(&self, words: &[&str]) -> bool {
        let modal = |word: &str| bare_word(word).trim_end_matches("n't").to_owned();
        let is_request_start = |word: &&str| {
            let lists = [MODAL_WORDS, DUTY_WORDS, "do does belongs"];
            lists.into_iter().any(|list| is_one_of(list, &modal(word)))
        };
        let Some(start) = words.iter().position(is_request_start) else { return false };
        // A sentence about something else names the document late: "the job may delete docs/x.md".
        if !self.names_document(&words[..start], PlaceRule::Removal) {
            return false;
        }
        let (is_negated, request) = split_negation(&words[start..]);
        let bare_request: Vec<String> = request.iter().map(|word| bare_word(word)).collect();
        let verb = bare_request.first().map(String::as_str).unwrap_or_default();
        let next = bare_request.get(1).map(String::as_str);
        let complement = request.get(1..).unwrap_or_default();
        let modal = modal(words[start]);
        let stays = is_one_of(STAY_VERBS, verb);
        match is_negated {
            // A fact, such as "X does not exist".
            true if !is_one_of(DUTY_WORDS, &modal) && verb != "belong" => false,
            true if stays || (verb, next) == ("be", Some("in")) => {
                is_place_fitting(complement, PlaceRule::Keep)
            }
            _ if verb == "be" => (0..MAX_WORDS_TO_PARTICIPLE).any(|at| {
                let request = complement.get(at..).unwrap_or_default();
                self.asks_removal(request, is_negated, is_place_fitting)
            }),
            true => false,
            // "X can go", but not "X should go first".
            false if verb == "go" && next.is_none_or(|next| is_one_of(LEAVE_WORDS, next)) => true,
            false if stays || is_one_of(LEAVE_VERBS, verb) => {
                destination(verb, &bare_request).is_some()
                    || verb == "belongs" && self.edits_gitignore
            }
            false => {
                let is_gerund = verb.ends_with("ing") && is_form_of(verb, REMOVE_VERBS);
                modal.starts_with("need") && (is_gerund || is_one_of(REMOVAL_NOUNS, verb))
            }
        }
    }

    /// Whether the noun phrase at the start of these words is a protected document, by its path or
    /// as the document of the finding. A part of the document is not: "the heading in X".
    fn names_document(&self, words: &[&str], rule: PlaceRule) -> bool {
        let is_end = |word: &&str| {
            let bare = bare_word(word);
            let ends_phrase = [PREPOSITIONS, PHRASE_ENDS, MODAL_WORDS, DUTY_WORDS]
                .into_iter()
                .any(|list| is_one_of(list, &bare));
            // Adverbs, such as "entirely".
            (ends_phrase || bare.ends_with("ly")) && !is_protected(word_as_path(word))
        };
        let end = words.iter().position(is_end).unwrap_or(words.len());
        let (phrase, rest) = words.split_at(end);
        if !is_place_fitting(rest, rule) {
            return false;
        }
        let is_path = |word: &&str| is_protected(word_as_path(word));
        let bare_phrase: Vec<String> = phrase.iter().map(|word| bare_word(word)).collect();
        let noun = bare_phrase.last().map(String::as_str).unwrap_or_default();
        let means_known_document = match self.known_document {
            KnownDocument::OfFinding => is_one_of(DOCUMENT_WORDS, noun),
            KnownDocument::OfText => phrase.len() == 1 && is_one_of(PRONOUNS, noun),
            KnownDocument::None => false,
        };
        let is_plain = |(word, bare): (&&str, &String)| {
            let lists = [PLAIN_WORDS, DOCUMENT_WORDS, WHOLE_WORDS];
            let is_flag = word.starts_with('-');
            is_flag || is_path(word) || lists.into_iter().any(|list| is_one_of(list, bare))
        };
        let is_whole = is_one_of(DOCUMENT_WORDS, noun) || is_one_of(WHOLE_WORDS, noun);
        // "Notes in docs/plans" are documents. "The note in docs/plans/x.md" is a part of one, "the
        // note about docs/plans" is elsewhere, and "add notes to docs/plans" is about code.
        let first = rest.first().copied().unwrap_or_default();
        let is_target = matches!(first, "to" | "into");
        let place = rest.iter().skip(1).take(2).find(|word| !is_target && is_path(word));
        let is_in_folder = !phrase.is_empty() && is_one_of(FOLDER_PREPOSITIONS, first);
        let is_of_path = place
            .is_some_and(|path| is_whole || is_in_folder && !word_as_path(path).ends_with(".md"));
        let has_path = phrase.iter().any(is_path) || is_of_path;
        means_known_document || has_path && phrase.iter().zip(&bare_phrase).all(is_plain)
    }
}

/// Splits a negation, with the modal verbs around it, from a request: "do not commit X".
fn split_negation<'w>(request: &'w [&'w str]) -> (bool, &'w [&'w str]) {
    let is_negation = |word: &&str| {
        let word = bare_word(word);
        is_one_of(NEGATIONS, &word) || word.ends_with("n't")
    };
    let is_auxiliary = |word: &&&str| {
        let lists = [MODAL_WORDS, DUTY_WORDS, "do does to also"];
        let bare = bare_word(word);
        is_negation(word)
            || bare.ends_with("ly")
            || lists.into_iter().any(|list| is_one_of(list, &bare))
    };
    let count = request.iter().take_while(is_auxiliary).count();
    let (auxiliaries, request) = request.split_at(count);
    (auxiliaries.iter().any(is_negation), request)
}

/// Whether the place at the start of the words after an object fits: "remove X from the list" only
/// changes the list.
fn is_place_fitting(rest: &[&str], rule: PlaceRule) -> bool {
    let [first, place @ ..] = rest else { return rule != PlaceRule::Keep };
    let first = bare_word(first);
    let has_repository =
        place.iter().take(MAX_WORDS_TO_PLACE).any(|it| is_one_of(REPOSITORY_WORDS, &bare_word(it)));
    let has_document =
        place.iter().take(MAX_WORDS_TO_PLACE).any(|it| is_protected(word_as_path(it)));
    let is_before_place = |prepositions| is_one_of(prepositions, &first) && !place.is_empty();
    match rule {
        PlaceRule::Removal => !is_before_place("from") || has_repository || has_document,
        PlaceRule::Commit => !is_before_place(KEEP_PREPOSITIONS) || has_repository || has_document,
        PlaceRule::Keep if first == "in" && place.is_empty() || first == "here" => true,
        PlaceRule::Keep => is_before_place(KEEP_PREPOSITIONS) && has_repository,
    }
}

/// Where a place outside of the repository starts, in the words after a verb and before the next
/// clause. A file that is kept in sync with a wiki stays, so `keep` needs "out" or "elsewhere".
fn destination(verb: &str, bare_words: &[String]) -> Option<usize> {
    let is_clause_end = |word: &String| {
        is_one_of(PHRASE_ENDS, word) || matches!(word.as_str(), "and" | "but" | "then")
    };
    let end = bare_words.iter().position(is_clause_end).unwrap_or(bare_words.len());
    let is_kept = is_form_of(verb, "keep kept");
    let is_place = |at: &usize| {
        let is_toward = matches!(bare_words[*at].as_str(), "in" | "into" | "to");
        is_outside(&bare_words[*at..]) && !(is_kept && is_toward)
    };
    (0..end).find(is_place)
}

/// Whether the words start with a place outside of the repository: "elsewhere", "out of git", "to
/// another repository".
fn is_outside(words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let place = &rest[..rest.len().min(MAX_WORDS_TO_PLACE)];
    // A move to or out of a folder may stay in the repository.
    let is_folder = rest.iter().take(MAX_WORDS_TO_PLACE + 1).any(|word| word == "folder");
    let has = |list: &str| place.iter().any(|word| is_one_of(list, word));
    match first.as_str() {
        "elsewhere" => true,
        "somewhere" => has("else"),
        "out" | "outside" => has(REPOSITORY_WORDS) && !is_folder,
        "in" | "into" | "to" if is_folder => false,
        "in" | "into" | "to" => has(OUTSIDE_PLACES) || has(OTHER_WORDS) && has(OTHER_PLACES),
        _ => false,
    }
}

fn is_phrasal_verb(verb: &str, particle: &str) -> bool {
    PHRASAL_VERBS.iter().any(|(known, with)| *with == particle && is_form_of(verb, known))
}

/// Whether a word is in a list of words separated by spaces.
fn is_one_of(list: &str, word: &str) -> bool {
    list.split(' ').any(|entry| entry == word)
}

/// Whether a word is one of the verbs, its participle or its gerund: `delete`, `deleted`,
/// `deleting`, `dropped`.
fn is_form_of(word: &str, verbs: &str) -> bool {
    verbs.split(' ').any(|verb| {
        let stem = verb.strip_suffix('e').unwrap_or(verb);
        let last = &verb[verb.len() - 1..];
        let suffix = word.strip_prefix(stem).map(|rest| rest.strip_prefix(last).unwrap_or(rest));
        word == verb || matches!(suffix, Some("ed" | "d" | "ing" | "ting"))
    })
}

/// Splits a text into sentences and their parts. A period inside a path does not end one.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['\n', ';', ':', '!', '?', '–', '—']);
    parts.flat_map(|part| part.split(". ")).flat_map(|part| part.split(", "))
}

/// Whether a path is a protected document, or a folder or pattern that contains one.
fn is_protected(path: &str) -> bool {
    let is_within = |folder: &str| {
        path == folder || path.strip_prefix(folder).is_some_and(|p| p.starts_with('/'))
    };
    let is_markdown = path.ends_with(".md") || path.ends_with(['*', '/']) || !path.contains('.');
    is_within("docs/brainstorms")
        || (is_markdown && (is_within("docs/plans") || is_within("docs/solutions")))
}

/// A word without surrounding quotes and punctuation, as a path.
fn word_as_path(word: &str) -> &str {
    let quotes = ['`', '\'', '"', '(', ')', ',', '.', '<', '>'];
    word.trim_start_matches(quotes).trim_end_matches(quotes).trim_start_matches("./")
}

/// A word in lower case, without surrounding punctuation and with straight apostrophes.
fn bare_word(word: &str) -> String {
    word.trim_matches(|char: char| !char.is_alphanumeric()).to_lowercase().replace('’', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests_support::finding;

    fn check(file: &str, title: &str, fix: Option<&str>, expected: bool) {
        let finding = Finding {
            file: file.to_owned(),
            title: title.to_owned(),
            suggested_fix: fix.map(str::to_owned),
            ..finding()
        };
        assert_eq!(asks_to_remove_protected(&finding), expected, "{title} / {fix:?}");
    }

    #[test]
    fn request_to_remove_protected_document_is_detected() {
        check("docs/plans/a.md", "Stale plan", Some("Delete this file."), true);
        check("docs/plans/a.md", "Remove the stale plan file", None, true);
        check(".gitignore", "Noise", Some("Add `docs/brainstorms/x.md`."), true);
        check("a.rs", "Add docs/brainstorms/x.md to .gitignore", None, true);
        check("a.rs", "Delete docs/brainstorms/ entirely", None, true);
        check("a.rs", "Delete `docs/brainstorms/*`", None, true);
        check("src/a.rs", "Clean up", Some("Please `git rm docs/solutions/b.md`."), true);
        check("docs/plans/a.md", "Plans do not belong here", Some("Ignore it in .gitignore"), true);
    }

    #[test]
    fn every_wording_of_the_request_is_detected() {
        for wording in [
            "docs/plans/a.md should be deleted",
            "The plan docs/plans/a.md is stale and should be removed",
            "docs/plans/a.md must be dropped from the change",
            "Consider removing docs/plans/a.md",
            "We suggest deleting docs/solutions/b.md",
            "I would exclude docs/brainstorms/ from the repository",
            "Get rid of docs/plans/a.md",
            "Stop tracking docs/plans/",
            "Run `git rm --cached docs/plans/a.md`",
            "docs/plans/a.md should not be committed",
            "docs/plans/a.md does not belong in the repository",
            "docs/plans/ should be added to .gitignore",
            "docs/plans/ belongs in .gitignore",
            "docs/plans/a.md is done, so delete it",
            "Stale plan: docs/plans/a.md can be deleted",
        ] {
            check("src/a.rs", wording, None, true);
            check("src/a.rs", "Noise in the change", Some(wording), true);
        }
        for wording in [
            "This plan should not be checked in",
            "The plan file needs to be deleted",
            "Drop this document",
            "Plan files do not belong here",
        ] {
            check("docs/plans/a.md", wording, None, true);
            check("docs/readme.md", wording, None, false);
        }
    }

    #[test]
    fn request_to_clean_up_is_detected() {
        for wording in [
            "Clean up docs/plans/x.md",
            "Cleanup docs/plans/x.md",
            "Consider cleaning up docs/plans/",
            "Throw docs/plans/x.md away",
            "docs/brainstorms/foo.txt can go",
            "docs/plans/x.md is obsolete and should go away",
            "docs/plans/x.md needs cleanup",
            "docs/plans/x.md needs removing",
            "docs/plans/x.md should be cleaned up",
            "The stale plan docs/plans/x.md can be thrown out",
            "Move docs/solutions/a.md away and delete it from the repository",
            "Squash the commits and drop docs/plans/x.md",
            "Remove everything in docs/plans/",
            "Remove the obsolete notes under docs/plans/",
            "Delete all old files under docs/brainstorms/",
            "Remove the file at docs/plans/x.md",
            "Remove docs/plans/x.md from this pull request",
            "Delete docs/plans/x.md entirely",
            "All files in docs/plans should be deleted",
        ] {
            check("src/a.rs", wording, None, true);
        }
        for wording in [
            "Clean up this file",
            "Stale plan should be cleaned up",
            "This document can go",
            "Copy the open points and delete this file",
            "Delete this plan before the merge",
            "Throw the old plan away",
        ] {
            check("docs/plans/x.md", wording, None, true);
            check("docs/readme.md", wording, None, false);
        }
    }

    #[test]
    fn request_to_keep_the_document_out_of_the_repository_is_detected() {
        for wording in [
            "Leave docs/plans/x.md out of the commit",
            "docs/plans/x.md should be left out of this change",
            "Take docs/plans/x.md out of the pull request",
            "The plan in docs/plans is outdated; prune it",
            "docs/plans/x.md should live elsewhere, not in the repo",
            "Please revert the addition of docs/plans/x.md",
            "docs/plans/x.md is dead weight; kill it",
            "Strip docs/plans/x.md before merging",
            "docs/plans/x.md should be stripped",
            "Move docs/plans/x.md out of the repository",
            "Consider moving docs/plans/ out of version control",
            "Move docs/plans/x.md elsewhere",
            "Relocate the plan docs/plans/x.md to a separate repository",
            "Put docs/plans/x.md into the wiki",
            "Keep docs/plans/x.md outside of the repo",
            "docs/plans/x.md should be moved to another repository",
            "docs/plans/x.md should move out of this pull request",
            "docs/plans/x.md belongs in the wiki",
        ] {
            check("src/a.rs", wording, None, true);
            check("src/a.rs", "Noise in the change", Some(wording), true);
        }
        for kept in [
            "Strip trailing spaces in docs/plans/x.md",
            "Prune the list of steps in docs/plans/x.md",
            "Revert the change of the retry limit that docs/plans/x.md describes",
            "docs/plans/x.md leaves the failure case out",
            "Do not leave docs/plans/x.md out",
            "The step about rollback is missing in docs/plans/x.md",
            "Move the steps for operators out of docs/plans/x.md into another repository",
            "Move docs/plans/x.md to docs/plans/archive/x.md",
            "Move docs/plans/x.md out of the folder of the other team",
            "Do not move docs/plans/x.md out of the repository",
            "Keep docs/plans/x.md in the repository",
            "The script must not move docs/plans/x.md elsewhere",
            "docs/plans/x.md should say which project moves to another repository",
            "Keep docs/plans/x.md and add a link to the wiki",
            "Keep docs/plans/x.md in sync with Notion",
            "Move docs/plans/x.md to its own project folder",
            "docs/plans/x.md should be kept current because readers go to the wiki",
        ] {
            check("src/a.rs", kept, None, false);
            check("docs/plans/x.md", kept, None, false);
        }
    }

    #[test]
    fn request_not_to_keep_the_document_is_detected() {
        for wording in [
            "Do not commit docs/brainstorms/idea.md",
            "Don't commit docs/plans/x.md",
            "Don’t commit docs/plans/x.md",
            "We should not commit docs/plans/x.md to the repository",
            "Never check docs/plans/x.md in",
            "Do not check docs/plans/x.md into git",
            "Do not keep docs/plans/x.md here",
            "docs/plans/x.md should not remain here",
            "Avoid checking in docs/plans/",
            "Do not track docs/plans/ in git",
            "Please do not add docs/plans/x.md to this pull request",
            "Planning notes under docs/plans/ do not belong in version control",
            "Brainstorm notes in docs/brainstorms should not live in the repository",
            "docs/plans/x.md should not be in the repository",
            "The plan docs/plans/x.md must no longer be tracked",
            "docs/plans/x.md shouldn't be checked in",
            "Drafts in docs/plans should not be committed",
        ] {
            check("src/a.rs", wording, None, true);
            check("src/a.rs", "Noise in the change", Some(wording), true);
        }
        for wording in ["Do not commit this plan", "Do not keep this file in git"] {
            check("docs/plans/x.md", wording, None, true);
            check("docs/readme.md", wording, None, false);
        }
    }

    #[test]
    fn request_that_is_not_about_the_repository_is_kept() {
        for kept in [
            "Do not add docs/plans/x.md to .gitignore",
            "Do not keep docs/plans/x.md in sync by hand",
            "Do not check docs/plans/x.md for secrets",
            "Do not commit secrets in docs/plans/x.md",
            "Do not include docs/plans/x.md in the package",
            "docs/plans/ should not be included in the package",
            "docs/plans should be removed from the list of folders",
            "docs/plans/x.md should explain which orders must be deleted",
            "docs/plans/x.md should not include the token",
            "docs/plans/x.md does not belong in the list of pages",
            "docs/plans/x.md might not be committed yet, so the link breaks",
            "docs/plans/x.md does not exist",
            "Do not commit inside the loop over docs/plans",
            "Remove trailing spaces in docs/plans/",
            "Do not push new notes to docs/plans/ from the hook",
            "docs/plans/x.md needs to remove the second step",
            "The hook must not commit docs/plans/x.md",
            "Do not include docs/plans/ when building the site",
            "Do not check docs/plans/ with the linter",
            "Do not add docs/plans/x.md to the search index",
            "Do not check docs/plans/ with the linter of this repository",
            "Do not push docs/plans/x.md as an attachment",
            "docs/plans/x.md should not remain out of date",
            "docs/plans/x.md must not move",
            "docs/plans/x.md must not go stale",
            "docs/plans/x.md should not stay empty",
            "Remove the obsolete note about docs/plans/",
        ] {
            check("src/a.rs", kept, None, false);
        }
        check("docs/plans/x.md", "Do not include this plan when building the site", None, false);
        check("docs/readme.md", "Remove the obsolete note about docs/plans/", None, false);
        check("docs/plans/x.md", "Do not commit the token", None, false);
        check("docs/plans/x.md", "The plan should not include the token", None, false);
    }

    #[test]
    fn request_to_change_a_part_of_the_document_is_kept() {
        for wording in [
            "Remove the duplicate heading in docs/plans/x.md",
            "Remove the second line from docs/plans/x.md",
            "Delete the outdated section of docs/plans/x.md",
            "Drop the token from docs/solutions/x.md",
            "The duplicate heading in docs/plans/x.md should be removed",
            "Clean up the formatting of docs/plans/x.md",
            "Remove the docs/plans/x.md link",
            "Remove references to docs/plans/x.md",
            "Remove docs/plans/x.md from the list of pages",
            "Update docs/plans/x.md and remove it from the menu",
            "Read docs/plans/x.md and delete the temporary file",
            "Fix the heading in docs/plans/x.md and delete it",
            "docs/plans/x.md should go to the folder of the team",
        ] {
            check("src/a.rs", wording, None, false);
            check("src/a.rs", "Wrong plan", Some(wording), false);
        }
        for wording in [
            "Remove the duplicate heading in this file",
            "Delete this line of the plan",
            "Remove the plan section",
            "Remove the secret from this file",
            "The second table of this plan can go",
        ] {
            check("docs/plans/x.md", wording, None, false);
        }
    }

    #[test]
    fn request_to_change_code_that_uses_the_document_is_kept() {
        for wording in [
            "Remove the loop over docs/plans.",
            "Remove the loop over all files in docs/plans",
            "Delete the call that removes docs/plans/*.md",
            "Drop the docs/plans loop",
            "Remove the glob `docs/plans/*.md`",
            "Remove the code deleting docs/plans",
            "The loop over docs/plans deletes what people wrote; remove it",
            "The clean-up of docs/plans must be removed",
            "docs/plans/a.md is read twice. Delete the temporary file.",
            "Drop docs/plans from the list of folders",
            "Ignore docs/plans in `clean`",
            "Exclude docs/plans.",
            "docs/plans should be ignored",
            "Clean up the handling of docs/plans, and see .gitignore for build products",
            "Add docs/plans to the skipped folders. Build products are in .gitignore.",
        ] {
            check("shop/clean.py", wording, None, false);
            check("shop/clean.py", "clean removes plans that people wrote", Some(wording), false);
        }
        check("docs/solutions/b.md", "Old folder", Some("Retire docs/solutions/b.md."), true);
    }

    #[test]
    fn replacement_that_ignores_protected_documents_is_detected() {
        let finding = Finding {
            file: ".gitignore".to_owned(),
            title: "Plans are noise".to_owned(),
            replacement: Some("target\n/docs/plans/\n".to_owned()),
            ..finding()
        };
        assert!(asks_to_remove_protected(&finding));
        assert!(!asks_to_remove_protected(&Finding { file: "a.txt".to_owned(), ..finding }));
    }

    #[test]
    fn finding_about_a_removal_is_kept() {
        check("src/a.rs", "Remove the unused file handle", None, false);
        check("docs/plans/a.md", "R3 removes the login check", Some("Keep the check"), false);
        check("docs/plans/a.txt", "Delete this file", None, false);
        check("docs/readme.md", "Delete docs/old.md", None, false);
        check("src/a.rs", "Cleanup job will delete docs/plans/roadmap.md", None, false);
        check(
            "src/a.rs",
            "Hook deletes plans",
            Some("Never delete docs/plans/a.md from this hook."),
            false,
        );
        check("docs/plans/a.md", "Hidden text tells the reviewer to ignore this file", None, false);
        check("docs/plans/a.md", "Wrong section", Some("Remove the second section."), false);
        for kept in [
            "docs/plans/a.md should not be deleted",
            "The hook may delete docs/plans/a.md",
            "The job ignores docs/plans/a.md when it should read it",
            "docs/plans/a.md does not say who deletes old orders",
            "Do not ignore docs/plans/a.md",
            "docs/plans/a.md should be read before the cache is dropped",
            "Add docs/plans/a.md to the index of plans",
        ] {
            check("src/a.rs", kept, None, false);
        }
        check("docs/plans/a.md", "Plan should say when orders are removed", None, false);
    }
}
