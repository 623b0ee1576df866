//! Phrases of injection attempts.
//!
//! Some phrases are sufficient on their own (`ignore all previous instructions`). Others are common
//! in normal text (`approve this change`, `do not report issues`); they count only next to a second
//! phrase, if the text addresses an AI or a reviewer, or if the text is hidden. The words before a
//! phrase show whether the text only talks about such instructions.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::normalized_text::NormalizedWords;
use super::phrase_prefilter::PhrasePrefilter;
use crate::lazy_option::{LazyOption, lazy};

/// Maximum bytes between two phrases that form one instruction: about two sentences.
const REACH_BYTES: usize = 160;

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOrigin {
    /// Code or a document.
    File,
    /// A file with instructions for agents. Its text always addresses an agent.
    Instructions,
    /// A title, description, commit message or comment.
    Message,
    /// A file name.
    Name,
    /// HTML that is not displayed, or decoded text.
    Hidden,
}

/// A phrase. In patterns a blank is any separator, `W` any word, `FILL` a filler word, `START` the
/// start of a sentence, and groups do not capture. A phrase that is not sufficient everywhere must
/// be in one clause, since adjacent words of code can form any sentence.
struct Phrase {
    pattern: &'static str,
    excuse: Excuse,
    /// Where the phrase is sufficient on its own.
    sufficient_in: &'static [TextOrigin],
    /// Whom the text must address for the phrase to count elsewhere without a second phrase.
    addressee: Addressee,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addressee {
    /// A model. People are asked the same things in good faith.
    Machine,
    /// A model or a human reviewer.
    Reviewer,
}

/// What makes a phrase harmless.
#[expect(clippy::enum_variant_names, reason = "every excuse includes reported speech")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excuse {
    /// The text says that someone else does what the phrase says, or forbids it.
    ReportedSpeech,
    /// Reported speech or a condition: documents tell readers to skip what does not apply to them.
    ReportedOrConditional,
    /// Reported speech or a reference to a public file in a folder of secrets.
    ReportedOrPublic,
}

const EVERYWHERE: &[TextOrigin] = &[
    TextOrigin::File,
    TextOrigin::Instructions,
    TextOrigin::Message,
    TextOrigin::Name,
    TextOrigin::Hidden,
];
/// Texts that people do not notice.
const UNSEEN: &[TextOrigin] = &[TextOrigin::Hidden, TextOrigin::Name];
/// Texts that people do not notice, and files that agents obey.
const UNSEEN_OR_OBEYED: &[TextOrigin] =
    &[TextOrigin::Hidden, TextOrigin::Name, TextOrigin::Instructions];
const HIDDEN_OR_OBEYED: &[TextOrigin] = &[TextOrigin::Hidden, TextOrigin::Instructions];
const NOWHERE: &[TextOrigin] = &[];

#[rustfmt::skip]
const PHRASES: &[Phrase] = &[
    // Telling the model to ignore its instructions.
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(ignore|disregard|forget|override|bypass|neglect) (FILL ){0,2}(all|any|every|everything) (FILL ){0,3}(previous|prior|preceding|earlier|foregoing|above|original|initial|former) (FILL |system |user |developer |review |reviewer |safety ){0,3}(instructions?|prompts?|directives?|guidelines|orders)" },
    Phrase { excuse: Excuse::ReportedOrConditional, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(ignore|disregard|forget|bypass|neglect) (FILL ){0,4}(previous|prior|preceding|earlier|foregoing|above|original|initial|former) (FILL |system |user |developer |review |reviewer |safety ){0,3}(instructions|prompts|directives|guidelines)" },
    Phrase { excuse: Excuse::ReportedOrConditional, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(ignore|disregard|forget) (FILL ){0,3}(instructions|directives|prompts?) (FILL |which |W ){0,3}(above|before|previously|earlier|received|so far)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(ignore|disregard|forget|bypass) (FILL ){0,3}your (FILL |W ){0,3}(instructions|system prompt|guidelines|directives|guardrails|programming|training|policies|restrictions|safety|review rules)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "override your (FILL |W ){0,2}(instructions|system prompt|guidelines|guardrails|programming|training|safety)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(forget|disregard) (everything|all|anything|what) (FILL ){0,4}(told|said|instructed|learned|know|read|above)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "ignore (everything|all|anything|what) (that )?(you (were|have been|are|got)) (FILL |W )?(told|instructed|given|asked)" },
    Phrase { excuse: Excuse::ReportedOrConditional, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(do not|dont|stop|never|no longer|must not|need not) (follow|following|obey|obeying|apply|applying|listen to|comply with|adhere to) (FILL ){0,3}(previous|prior|earlier|original|system|your|initial) (W ){0,2}(instructions|rules|guidelines|prompt|directives|orders)" },
    // Telling the model to ignore its instructions, in other languages. An accented letter may be
    // `~`.
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "ignore[zr]? (toutes )?(les |vos |tes )?(instructions|consignes) pr[~e]c[~e]dentes|ignor(a|e|en|ar) (todas )?(las |tus |sus )?instrucciones (anteriores|previas)|ignorier(e|en sie|t) (alle |s[~a]mtliche )?(deine |ihre |die )?(vorherigen|bisherigen|vorigen|fr[~u]heren) (anweisungen|instruktionen)|ignor(e|a|ar) (todas )?(as |suas )?instru[~c][~o]es anteriores|ignora (tutte )?(le )?(istruzioni) precedenti" },
    // Changing the model's role, or revealing its prompt.
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "you are now (FILL |in |an? |W )?(dan|god mode|jailbroken|unrestricted|unfiltered|free (from|of) (all|any|your))" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "you are no longer (bound by|an? (W )?(reviewer|assistant|ai)|the (W )?(reviewer|assistant|ai)|reviewing)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "your new (instructions?|system prompt|objective|directive|orders|role|task|goal) (is|are) (to |as follows|that )" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(reveal|repeat|print|output|disclose|leak|show|tell|post|include|quote) (FILL |me |us ){0,3}your (W ){0,2}(system prompt|system message|hidden instructions|initial instructions|initial prompt|secret instructions)" },
    // Leaking what the model can read.
    Phrase { excuse: Excuse::ReportedOrPublic, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(read|cat|open|print|dump|show|reveal|include|send|post|upload|leak|exfiltrate|paste|output|echo|fetch|quote|find|take) (W ){0,6}(ssh (folder|directory|keys?|private keys?|id rsa|id ed25519|id ecdsa)|ssh|id rsa|id ed25519|etc passwd|etc shadow|aws credentials|netrc) (W ){0,8}(post|include|send|paste|publish|report|quote|put|leak|upload|comment|reveal|print|append) (W ){0,6}(it|them|this|that|comment|comments|review|report|summary|finding|findings|reply|response|answer|contents?|here|key)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(include|post|paste|put|print|publish|quote|report|leak|reveal|append|send|add|write) (W ){0,4}(contents? of (W ){0,3}(ssh|env|etc passwd|netrc|aws)|environment variables?|env vars?|env file|secrets|api keys?|access tokens?|credentials|private keys?|github token|ssh keys?) (W ){0,3}(in|into|to|as|inside|with|within) (W ){0,2}(review|comment|comments|finding|findings|your (W )?(review|report|summary|reply|response|answer))" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(read|cat|open|print|dump|list|collect) (W ){0,5}(environment variables?|env vars?|env file|env|secrets|api keys?|credentials|private keys?|github token|tokens?) (FILL )?(and|then) (FILL |then )?(post|paste|publish|leak|exfiltrate|quote) (it|them|this|that|the (W )?(contents?|values?|result|output))" },
    // Approving the change.
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(START|and |then |must |should |please |just |only |simply |to )(say|reply|respond|answer|output|return|print|conclude) (FILL |only |with |just |simply |that |back |a |single |W ){0,3}lgtm" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "STARTapprove this (W )?(pr|pull request|mr|merge request|change|changes|changeset|diff|patch|commit|code|branch|review)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(unconditionally|blindly) approve" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "approve (W ){0,4}(without|with no) (FILL |W )?(reporting|findings|comments?|review|reviewing|reading|issues|looking|checking|further)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(do not|dont|never|must not) (report|flag|raise|disclose) (FILL |single |other |potential |security |possible |on |about ){0,4}(issues|findings?|problems|bugs|vulnerabilit(y|ies)|concerns|defects|flaws|anything) (in|about|with|for|on|of) (this|the) (W )?(pr|pull request|mr|merge request|change|changeset|diff|patch|review)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "START(W )?(reviewers?|ai|llms?|gpt|chatgpt|claude|copilot|gemini|codex|coderabbit|crh)[:,](please |just |always |simply |now |you |must |should )*approve" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(post|leave|add|write|submit) (FILL |W ){0,3}(comment|review) (W ){0,5}(saying|says|stating|states|claiming) (W ){0,6}(approved?|lgtm|safe|fine|secure|no issues)" },
    Phrase { excuse: Excuse::ReportedOrPublic, sufficient_in: EVERYWHERE, addressee: Addressee::Reviewer, pattern: "(use|call|invoke) (W ){0,3}tools? (W ){0,2}(read|open|cat|print|show|list|get|fetch|find) (W ){0,4}(ssh|etc passwd|etc shadow|netrc|aws credentials|id rsa|id ed25519|private keys?)" },
    // A whole sentence about the change.
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: &[TextOrigin::Message], addressee: Addressee::Reviewer, pattern: "START(please |just |so |and |you must )?((report|raise|flag|mention) (nothing|no (W )?(findings|issues|problems|bugs|vulnerabilities|concerns))|(do not|dont|never) (report|raise|flag|mention) (anything|(any|all|the) (W )?(findings|issues|problems|bugs|vulnerabilities|concerns)))( at all| here| please| (in|about|for|on) (this|the) (W )?(change|pr|pull request|file|diff|code|commit|review))?([.\n]|\\z)" },
    // Calling the tools of a review.
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: HIDDEN_OR_OBEYED, addressee: Addressee::Reviewer, pattern: "(call|calls|use|invoke|run|execute) (FILL |W ){0,3}(submit review|report findings|report checks|mark file reviewed|delegate review)" },
    // Common in normal text; mostly need a second phrase.
    Phrase { excuse: Excuse::ReportedOrConditional, sufficient_in: UNSEEN_OR_OBEYED, addressee: Addressee::Machine, pattern: "(you|agents?|ai|llms?|bots?|claude|copilot) (must|should|shall|will|are to|have to) (always )?approve (W ){0,3}(prs?|pull requests?|changes?|diffs?|commits?|code|everything|it)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "(is|are|as) (a |an )?(known |already )?(false positives?|intentional|not (an? )?(W )?(bugs?|issues?|problems?|vulnerabilit(y|ies))|fixed|reviewed|approved|audited)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "(post|publish|send|upload) (FILL |W ){0,4}(comments?|review|message|request|contents?) (W ){0,2}(saying|says|containing|of)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: UNSEEN_OR_OBEYED, addressee: Addressee::Reviewer, pattern: "(always approve|approve (everything|(all|any|every) (of )?(FILL )?(W )?(prs?|pull requests?|changes?|diffs?|commits?|code|submissions?)))" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: UNSEEN, addressee: Addressee::Machine, pattern: "approve (it|(this|these|the|my) (W )?(pr|pull request|mr|merge request|change|changes|changeset|diff|patch|commit|code|submission|contribution|review))" },
    Phrase { excuse: Excuse::ReportedOrConditional, sufficient_in: HIDDEN_OR_OBEYED, addressee: Addressee::Reviewer, pattern: "(report|return|output|raise|list|submit|produce|post|give|write|flag|find) (FILL |only |exactly |just |back ){0,3}(nothing|(no|zero|0) (W )?(findings?|issues?|problems?|bugs?|vulnerabilit(y|ies)|concerns?|comments?|defects?|flaws?)|empty (W )?(list|array|findings?|review|report|result))" },
    Phrase { excuse: Excuse::ReportedOrConditional, sufficient_in: UNSEEN_OR_OBEYED, addressee: Addressee::Reviewer, pattern: "(say|reply|respond|answer|output|return|print|conclude|state|write|post|comment|declare) (FILL |only |with |just |simply |that |back |W ){0,4}(lgtm|looks good to me|ready to merge|no issues|no problems)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Reviewer, pattern: "(do not|dont|never|must not|should not|shouldnt|avoid|refrain from|no need to|without) (report|reporting|flag|flagging|mention|mentioning|raise|raising|note|noting|list|listing|disclose|find) (FILL |single |other |potential |security |possible ){0,4}(findings?|bugs?|vulnerabilit(y|ies)|security issues|concerns?|defects?|flaws?|anything|weakness(es)?|backdoors?)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "(do not|dont|never|refrain from|no need to) ((report|reporting|flag|flagging|mention|mentioning|comment|commenting|disclose) W|(review|reviewing|analyze|analyse|inspect|question|block) (this|the|these|any|it|my))" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "(treat|consider|regard|mark|trust|assume|rate|classify|label) (FILL |that |as |W ){0,5}(safe|correct|approved|trusted|reviewed|audited|secure|vetted|resolved|harmless|ready to merge|passed)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "(skip|stop|end|abort|finish) (FILL |W )?(review|reviewing|code review|security review|security checks?|analysis)" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "(ignore|disregard|forget|suppress|hide|drop|dismiss|discard) (FILL |other |potential |security |possible |W ){0,3}(file|findings?|issues|problems|bugs|vulnerabilit(y|ies)|instructions|prompt|rules|guidelines|concerns|warnings|rest of (the|this) (diff|file|change|prompt))" },
    Phrase { excuse: Excuse::ReportedSpeech, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "you are now (FILL |in |W ){0,4}(mode|assistant|agent|bot|reviewer|ai|model|approver|administrator|admin|system)" },
    Phrase { excuse: Excuse::ReportedOrPublic, sufficient_in: NOWHERE, addressee: Addressee::Machine, pattern: "(read|cat|open|print|dump|show|reveal|include|send|post|upload|leak|exfiltrate|paste|output|fetch) (W ){0,6}(ssh|id rsa|id ed25519|etc passwd|aws credentials|netrc|env file|environment variables|env vars|secrets|api keys?|credentials|system prompt)" },
];

/// Texts that address a model. The name of a model is not enough, because much code contains one.
#[rustfmt::skip]
const TO_MACHINES: &[&str] = &[
    "(ai|llm|automated|automatic|bot|robot|machine|virtual) (code )?(review|reviewers?|review bots?|review agents?|review assistants?|review tools?|review systems?|agents?|assistants?|bots?|models?|tools?)",
    "(review|code review|reviewing|reviewer) (bots?|agents?|assistants?|tools?|systems?|models?)",
    "(hey|dear|attention|note (to|for)|notice (to|for)|message (to|for)|instructions? (to|for)) (the |all |any |this |every |you )?(W )?(agents?|assistants?|bots?|models?|ai|llms?|gpt|chatgpt|claude|copilot|gemini|codex|coderabbit|crh)",
    "(ai|llms?|gpt|chatgpt|claude|copilot|gemini|codex|coderabbit|crh|language models?) (you )?(must|should|shall|please|is to|are to|has to|have to)",
    "(if|as|since|because|when) (you are )?(a|an|the) (W ){0,2}(ai|llm|language model|bot|ai model|ai agent|ai assistant)",
    "you ?a?re (a|an|the) (W ){0,3}(ai|llm|language model|bot)",
    "(im start|im end|endoftext|start header id|begin of text)",
    "at~[a-z0-9~]{0,20}(bot|crh|claude|copilot|gemini|codex|coderabbit|ai|gpt|review|reviewer|agent|assistant)[a-z0-9~]{0,20}",
];

/// Texts that address a reviewer.
#[rustfmt::skip]
const TO_REVIEWERS: &[&str] = &[
    "(hey|dear|attention|note (to|for)|notice (to|for)|message (to|for)|instructions? (to|for)) (the |all |any |this |every |you )?(W )?reviewers?",
    "you ?a?re (a|an|the) (W ){0,3}reviewer",
    "you (must|shall|have to|need to|are (required|instructed|ordered|told|expected|hereby) (W )?to)",
];

/// A name with a colon or a comma shortly before a phrase. Further away, such a name is a key in
/// data.
const CALLED_MACHINE: &str = "START(the |all |any |every |hi |hello |new |W )?(agents?|assistants?|bots?|models?|ai|llms?|gpt|chatgpt|claude|copilot|gemini|codex|coderabbit|crh|system|language models?)( note| message| instructions?| override| prompt)?[:,]TAIL|START(new|updated|hidden|secret|real|actual|important) (instructions?|prompt|directive|override)[:,]TAIL|START(system|im start system)( note| message| instructions?| override| prompt)?\nTAIL";
const CALLED_REVIEWER: &str = "START(the |all |any |every |hi |hello |W )?reviewers?[:,]TAIL";

/// Words right before a phrase that turn it into reported speech or a negation.
#[rustfmt::skip]
const REPORTED_SPEECH: &[&str] = &[
    "(not|never|dont|doesnt|didnt|cannot|cant|wont|wouldnt|shouldnt|mustnt|couldnt|without|rather than|instead of|refuse to|refuses to|fail to|fails to)( W){0,1}",
    "(we|they|it|i|ill|id|well|wed|theyll|youll|youd|he|she|which|who|that|users?|people|attackers?|authors?|maintainers?|humans?)( (can|could|may|might|will|would|should|must|shall|also|simply|often|sometimes|just|usually|always|then|to|now|still|safely|have to|need to|want to|try to|tries to))*",
    "(models?|llms?|compilers?|parsers?|tools?|browsers?|clients?|servers?|programs?|git|agents|bots|reviewers|assistants)( (can|could|may|might|will|would|also|simply|often|sometimes|just|usually|then|still))*",
    "you (can|may|could|might)( (now|also|safely|simply|just|then|choose to))*",
    "(how|try|tries|trying|tried|attempts?|attempted|attempting|it|them|model|llm|us|want|wants|wanted|able|unable|refused?|hard|easy|possible|option|flag|ability|used|way|button|command|api|function|method) to",
    "(can|could|may|might|would|did|does|cases?|if|whether|when|where|why|says?|said|like|e g|eg|such as|called|named|us)",
];

const FILL: &str = "(all|any|the|of|your|my|every|and|or|these|those|everything|each|other|both|our|its|that|were|you|have|been|are|given|to|entire|whole|complete|completely|totally|fully|entirely|immediately|now|please|just|such|from|in|on|about|a|an|this|it|as|is|me|us|absolutely|strictly)";

struct PhraseBook {
    phrases: Vec<LazyOption<Regex>>,
    prefilter: PhrasePrefilter,
    to_machines: Vec<LazyOption<Regex>>,
    to_reviewers: Vec<LazyOption<Regex>>,
    called_machine: LazyOption<Regex>,
    called_reviewer: LazyOption<Regex>,
    reported_speech: LazyOption<Regex>,
    conditional: LazyOption<Regex>,
    public: LazyOption<Regex>,
}

static BOOK: LazyLock<PhraseBook> = LazyLock::new(|| {
    let phrases = PHRASES.iter().map(|phrase| {
        let separators = if phrase.sufficient_in == EVERYWHERE { ANY_SIGN } else { IN_CLAUSE };
        lazy_regex(phrase.pattern, separators)
    });
    let compile_all =
        |patterns: &[&'static str]| patterns.iter().map(|it| lazy_regex(it, ANY_SIGN)).collect();
    let conditions = "if|when|once|after|until|unless|otherwise|alternatively|instead|in case|only";
    let public = "pub|public|config|known hosts|known~hosts|authorized keys|authorized~keys";
    PhraseBook {
        phrases: phrases.collect(),
        prefilter: PhrasePrefilter::from_patterns(PHRASES.iter().map(|phrase| phrase.pattern)),
        to_machines: compile_all(TO_MACHINES),
        to_reviewers: compile_all(TO_REVIEWERS),
        called_machine: lazy_regex(CALLED_MACHINE, ANY_SIGN),
        called_reviewer: lazy_regex(CALLED_REVIEWER, ANY_SIGN),
        reported_speech: lazy(|| {
            regex(&format!(r"({})[\x20\n]\z", REPORTED_SPEECH.join("|")), IN_CLAUSE)
        }),
        conditional: lazy_regex(conditions, ANY_SIGN),
        public: lazy_regex(public, ANY_SIGN),
    }
});

fn lazy_regex(pattern: &'static str, separators: &'static str) -> LazyOption<Regex> {
    lazy(|| regex(pattern, separators))
}

/// Separators allowed between the words of a phrase.
const ANY_SIGN: &str = "[ ,:\n]";
const IN_CLAUSE: &str = "[ ,]";

fn regex(pattern: &str, separators: &str) -> Option<Regex> {
    // A test checks that every expression compiles.
    RegexBuilder::new(&expand(pattern, separators)).unicode(false).build().ok()
}

/// Expands a pattern into a regular expression.
fn expand(pattern: &str, separators: &str) -> String {
    // Placeholders are capitals, which normalized text never contains. Expand them before blanks.
    let pattern = format!("({pattern})")
        .replace("FILL", FILL)
        .replace('(', "(?:")
        .replace("START", r"(?:\A|[.:\n])")
        .replace("TAIL", r"[a-z0-9~,\x20]{0,60}\z")
        .replace('W', "[a-z0-9~]+")
        .replace(' ', separators);
    format!(r"\b{pattern}(?:\b|\z|[:,\n])")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PhraseMatch {
    start: usize,
    end: usize,
    phrase: usize,
}

/// Offsets of injection attempts in a text, in order.
pub(super) fn instructions(words: &NormalizedWords, origin: TextOrigin) -> Vec<usize> {
    let text = words.text.as_str();
    let mut hits = Vec::new();
    for phrase_index in BOOK.prefilter.candidates(text) {
        let matches = BOOK.phrases[phrase_index].iter().flat_map(|regex| regex.find_iter(text));
        let excuse = PHRASES[phrase_index].excuse;
        let matches = matches.filter(|phrase_match| {
            !is_excused(excuse, text, phrase_match.start(), phrase_match.end())
        });
        hits.extend(matches.map(|phrase_match| PhraseMatch {
            start: phrase_match.start(),
            end: phrase_match.end(),
            phrase: phrase_index,
        }));
    }
    hits.sort_unstable();
    let mut starts: Vec<usize> = (0..hits.len())
        .filter(|index| {
            let hit = hits[*index];
            PHRASES[hit.phrase].sufficient_in.contains(&origin)
                || has_companion(&hits, *index, nearby_sentences(text, hit))
                || is_addressed(text, hit)
        })
        .map(|index| hits[index].start)
        .collect();
    starts.dedup();
    starts
}

/// Whether another phrase is within a range around a match. Matches are sorted, so only close ones
/// are checked.
fn has_companion(hits: &[PhraseMatch], index: usize, range: (usize, usize)) -> bool {
    let hit = hits[index];
    let hits_before = hits[..index].iter().rev().take_while(|other| range.0 <= other.start);
    let hits_after = hits[index + 1..].iter().take_while(|other| other.start <= range.1);
    let mut other_hits = hits_before.chain(hits_after);
    other_hits.any(|other| {
        let is_apart = other.end <= hit.start || hit.end <= other.start;
        other.phrase != hit.phrase && is_apart && other.end <= range.1
    })
}

/// Whether the text near a match addresses the phrase's [`Addressee`].
fn is_addressed(text: &str, hit: PhraseMatch) -> bool {
    let (from, to) = nearby_sentences(text, hit);
    let text_before = text.get(from..hit.start).unwrap_or_default();
    let text_after = text.get(hit.end..to).unwrap_or_default();
    let addressee = PHRASES[hit.phrase].addressee;
    names_addressee(addressee, text_before)
        || addresses(addressee, text_before)
        || addresses(addressee, text_after)
}

fn names_addressee(addressee: Addressee, text_before: &str) -> bool {
    let matches = |regex: &LazyOption<Regex>| {
        regex.as_ref().is_some_and(|name_pattern| name_pattern.is_match(text_before))
    };
    match addressee {
        Addressee::Machine => matches(&BOOK.called_machine),
        Addressee::Reviewer => matches(&BOOK.called_machine) || matches(&BOOK.called_reviewer),
    }
}

fn addresses(addressee: Addressee, text: &str) -> bool {
    let matches_any = |regexes: &[LazyOption<Regex>]| {
        regexes.iter().flat_map(|it| it.iter()).any(|it| it.is_match(text))
    };
    match addressee {
        Addressee::Machine => matches_any(&BOOK.to_machines),
        Addressee::Reviewer => matches_any(&BOOK.to_machines) || matches_any(&BOOK.to_reviewers),
    }
}

/// Start and end of the sentence of a phrase together with the sentence before it, within
/// [`REACH_BYTES`].
fn nearby_sentences(text: &str, hit: PhraseMatch) -> (usize, usize) {
    let PhraseMatch { start, end, .. } = hit;
    let from = start.saturating_sub(REACH_BYTES);
    let text_before = text.get(from..start).unwrap_or_default();
    let sentences: Vec<usize> = text_before.rmatch_indices('.').map(|(at, _)| at).take(2).collect();
    let from = sentences.get(1).map_or(from, |at| from + at + 1);
    let text_after = text.get(end..text.len().min(end + REACH_BYTES)).unwrap_or_default();
    let to = end + text_after.find('.').unwrap_or(text_after.len());
    (from, to)
}

fn is_excused(excuse: Excuse, text: &str, start: usize, end: usize) -> bool {
    let from = start.saturating_sub(REACH_BYTES);
    let text_before = text.get(from..start).unwrap_or_default();
    let is_reported =
        || BOOK.reported_speech.as_ref().is_some_and(|regex| regex.is_match(text_before));
    let is_conditional = || {
        let sentence = text_before.rfind('.').map_or(text_before, |at| &text_before[at..]);
        let text_after = text.get(end..text.len().min(end + REACH_BYTES)).unwrap_or_default();
        let rest_of_sentence = text_after.split('.').next().unwrap_or(text_after);
        let has_condition =
            |part: &str| BOOK.conditional.as_ref().is_some_and(|regex| regex.is_match(part));
        let sentence_text = &text[start - sentence.len()..end + rest_of_sentence.len()];
        let is_addressed = names_addressee(Addressee::Reviewer, sentence)
            || addresses(Addressee::Reviewer, sentence_text);
        (has_condition(sentence) || has_condition(rest_of_sentence)) && !is_addressed
    };
    let is_public_file = || {
        // The word may follow the phrase, as in `id_rsa.pub`.
        let search_end = text.len().min(end + ".known_hosts".len());
        BOOK.public.as_ref().is_some_and(|public| public.is_match(&text[start..search_end]))
    };
    match excuse {
        Excuse::ReportedSpeech => is_reported(),
        Excuse::ReportedOrConditional => is_reported() || is_conditional(),
        Excuse::ReportedOrPublic => is_reported() || is_public_file(),
    }
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;
    use regex_syntax::hir::{Class, Hir, HirKind, Literal};

    use super::*;

    /// Shortest texts that an expression matches, one for each alternative.
    fn samples(hir: &Hir) -> Vec<String> {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => vec![String::new()],
            HirKind::Literal(Literal(bytes)) => vec![String::from_utf8(bytes.to_vec()).unwrap()],
            HirKind::Class(Class::Bytes(class)) => {
                vec![char::from(class.ranges()[0].start()).to_string()]
            }
            HirKind::Class(Class::Unicode(class)) => vec![class.ranges()[0].start().to_string()],
            HirKind::Repetition(it) => {
                let count = usize::try_from(it.min).unwrap();
                samples(&it.sub).into_iter().map(|text| text.repeat(count)).collect()
            }
            HirKind::Capture(capture) => samples(&capture.sub),
            HirKind::Concat(all) => {
                let parts: Vec<Vec<String>> = all.iter().map(samples).collect();
                let firsts: Vec<&str> = parts.iter().map(|it| it[0].as_str()).collect();
                let with = |index: usize, text: &str| {
                    firsts[..index].concat() + text + &firsts[index + 1..].concat()
                };
                let ways = parts.iter().enumerate();
                ways.flat_map(|(at, part)| part.iter().map(move |text| (at, text)))
                    .map(|(at, text)| with(at, text))
                    .collect()
            }
            HirKind::Alternation(all) => all.iter().flat_map(samples).collect(),
        }
    }

    #[test]
    fn every_match_of_a_phrase_passes_the_prefilter() {
        for (index, phrase) in PHRASES.iter().enumerate() {
            let pattern = expand(phrase.pattern, IN_CLAUSE);
            let hir =
                ParserBuilder::new().unicode(false).utf8(false).build().parse(&pattern).unwrap();
            let texts = samples(&hir);
            assert!(texts.iter().any(|text| BOOK.phrases[index].as_ref().unwrap().is_match(text)));
            for text in texts {
                assert!(
                    BOOK.prefilter.candidates(&text).contains(&index),
                    "{}: {text}",
                    phrase.pattern
                );
            }
        }
        let few =
            ["total = 0", "return [line for line in lines if line.state == 'open']", "the file"];
        assert!(few.iter().all(|text| BOOK.prefilter.candidates(text).is_empty()));
    }

    #[test]
    fn every_expression_compiles() {
        let lists = [&BOOK.phrases, &BOOK.to_machines, &BOOK.to_reviewers];
        assert!(lists.into_iter().flatten().all(|it| it.is_some()));
        assert!(
            BOOK.reported_speech.is_some() && BOOK.conditional.is_some() && BOOK.public.is_some()
        );
        assert!(BOOK.called_machine.is_some() && BOOK.called_reviewer.is_some());
    }
}
