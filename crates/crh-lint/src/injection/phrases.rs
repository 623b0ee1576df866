//! What instructions to a reviewer sound like.
//!
//! Some phrases say enough by themselves (`ignore all previous instructions`). Others are said every day about other
//! things (`approve this change`, `do not report issues`) and count only beside a second one, or where somebody
//! speaks to an AI, to a reviewer, or where nobody is meant to look. Both are told from what merely speaks of such
//! instructions by the words before them.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::folded::Words;
use super::needed::Needed;
use crate::lazy::{Lazy, lazy};

/// How far apart two phrases may be that make an instruction together: two sentences.
const REACH: usize = 160;

/// Where a text stands, as far as it makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// Code or a document.
    File,
    /// A file that instructs agents: whoever it speaks to is one.
    Instructions,
    /// What people write about the change.
    Message,
    /// The name of a file.
    Name,
    /// HTML that is not shown.
    Hidden,
}

/// A phrase. In patterns a blank is any sign between words, `W` any word, `FILL` a word that changes nothing, and groups
/// capture nothing. A phrase that is not enough everywhere must stand in one clause: words of code next to each other
/// say many things.
struct Phrase {
    pattern: &'static str,
    excused: Excuse,
    /// Where it says enough by itself.
    enough_in: &'static [Setting],
    /// Who must be spoken to for it to be enough elsewhere.
    to: Listener,
}

/// Whom somebody speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listener {
    /// A model. People are asked the same things in good faith.
    Machine,
    /// A model or a person who reviews.
    Reviewer,
}

/// What makes a phrase harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excuse {
    /// That somebody else is said to do it, or that it is not to be done.
    Told,
    /// That, or a condition: documents tell readers to pass over what does not apply to them.
    ToldOrConditional,
    /// That, or that it is about what is no secret in the folder of secrets.
    ToldOrPublic,
}

const EVERYWHERE: &[Setting] =
    &[Setting::File, Setting::Instructions, Setting::Message, Setting::Name, Setting::Hidden];
const UNSEEN: &[Setting] = &[Setting::Hidden, Setting::Name];
const UNSEEN_OR_OBEYED: &[Setting] = &[Setting::Hidden, Setting::Name, Setting::Instructions];
const HIDDEN_OR_OBEYED: &[Setting] = &[Setting::Hidden, Setting::Instructions];
const NOWHERE: &[Setting] = &[];

#[rustfmt::skip]
const PHRASES: &[Phrase] = &[
    // To leave its instructions.
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(ignore|disregard|forget|override|bypass|neglect) (FILL ){0,2}(all|any|every|everything) (FILL ){0,3}(previous|prior|preceding|earlier|foregoing|above|original|initial|former) (FILL |system |user |developer |review |reviewer |safety ){0,3}(instructions?|prompts?|directives?|guidelines|orders)" },
    Phrase { excused: Excuse::ToldOrConditional, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(ignore|disregard|forget|bypass|neglect) (FILL ){0,4}(previous|prior|preceding|earlier|foregoing|above|original|initial|former) (FILL |system |user |developer |review |reviewer |safety ){0,3}(instructions|prompts|directives|guidelines)" },
    Phrase { excused: Excuse::ToldOrConditional, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(ignore|disregard|forget) (FILL ){0,3}(instructions|directives|prompts?) (FILL |which |W ){0,3}(above|before|previously|earlier|received|so far)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(ignore|disregard|forget|bypass) (FILL ){0,3}your (FILL |W ){0,3}(instructions|system prompt|guidelines|directives|guardrails|programming|training|policies|restrictions|safety|review rules)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "override your (FILL |W ){0,2}(instructions|system prompt|guidelines|guardrails|programming|training|safety)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(forget|disregard) (everything|all|anything|what) (FILL ){0,4}(told|said|instructed|learned|know|read|above)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "ignore (everything|all|anything|what) (that )?(you (were|have been|are|got)) (FILL |W )?(told|instructed|given|asked)" },
    Phrase { excused: Excuse::ToldOrConditional, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(do not|dont|stop|never|no longer|must not|need not) (follow|following|obey|obeying|apply|applying|listen to|comply with|adhere to) (FILL ){0,3}(previous|prior|earlier|original|system|your|initial) (W ){0,2}(instructions|rules|guidelines|prompt|directives|orders)" },
    // The same in other tongues. A letter with an accent is `~`.
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "ignore[zr]? (toutes )?(les |vos |tes )?(instructions|consignes) pr[~e]c[~e]dentes|ignor(a|e|en|ar) (todas )?(las |tus |sus )?instrucciones (anteriores|previas)|ignorier(e|en sie|t) (alle |s[~a]mtliche )?(deine |ihre |die )?(vorherigen|bisherigen|vorigen|fr[~u]heren) (anweisungen|instruktionen)|ignor(e|a|ar) (todas )?(as |suas )?instru[~c][~o]es anteriores|ignora (tutte )?(le )?(istruzioni) precedenti" },
    // To be somebody else, or to give itself away.
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "you are now (FILL |in |an? |W )?(dan|god mode|jailbroken|unrestricted|unfiltered|free (from|of) (all|any|your))" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "you are no longer (bound by|an? (W )?(reviewer|assistant|ai)|the (W )?(reviewer|assistant|ai)|reviewing)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "your new (instructions?|system prompt|objective|directive|orders|role|task|goal) (is|are) (to |as follows|that )" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(reveal|repeat|print|output|disclose|leak|show|tell|post|include|quote) (FILL |me |us ){0,3}your (W ){0,2}(system prompt|system message|hidden instructions|initial instructions|initial prompt|secret instructions)" },
    // To give away what it can reach.
    Phrase { excused: Excuse::ToldOrPublic, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(read|cat|open|print|dump|show|reveal|include|send|post|upload|leak|exfiltrate|paste|output|echo|fetch|quote|find|take) (W ){0,6}(ssh (folder|directory|keys?|private keys?|id rsa|id ed25519|id ecdsa)|ssh|id rsa|id ed25519|etc passwd|etc shadow|aws credentials|netrc) (W ){0,8}(post|include|send|paste|publish|report|quote|put|leak|upload|comment|reveal|print|append) (W ){0,6}(it|them|this|that|comment|comments|review|report|summary|finding|findings|reply|response|answer|contents?|here|key)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(include|post|paste|put|print|publish|quote|report|leak|reveal|append|send|add|write) (W ){0,4}(contents? of (W ){0,3}(ssh|env|etc passwd|netrc|aws)|environment variables?|env vars?|env file|secrets|api keys?|access tokens?|credentials|private keys?|github token|ssh keys?) (W ){0,3}(in|into|to|as|inside|with|within) (W ){0,2}(review|comment|comments|finding|findings|your (W )?(review|report|summary|reply|response|answer))" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(read|cat|open|print|dump|list|collect) (W ){0,5}(environment variables?|env vars?|env file|env|secrets|api keys?|credentials|private keys?|github token|tokens?) (FILL )?(and|then) (FILL |then )?(post|paste|publish|leak|exfiltrate|quote) (it|them|this|that|the (W )?(contents?|values?|result|output))" },
    // To say that all is well.
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(START|and |then |must |should |please |just |only |simply |to )(say|reply|respond|answer|output|return|print|conclude) (FILL |only |with |just |simply |that |back |a |single |W ){0,3}lgtm" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "STARTapprove this (W )?(pr|pull request|mr|merge request|change|changes|changeset|diff|patch|commit|code|branch|review)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(unconditionally|blindly) approve" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "approve (W ){0,4}(without|with no) (FILL |W )?(reporting|findings|comments?|review|reviewing|reading|issues|looking|checking|further)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(do not|dont|never|must not) (report|flag|raise|disclose) (FILL |single |other |potential |security |possible |on |about ){0,4}(issues|findings?|problems|bugs|vulnerabilit(y|ies)|concerns|defects|flaws|anything) (in|about|with|for|on|of) (this|the) (W )?(pr|pull request|mr|merge request|change|changeset|diff|patch|review)" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "START(W )?(reviewers?|ai|llms?|gpt|chatgpt|claude|copilot|gemini|codex|coderabbit|crh)[:,](please |just |always |simply |now |you |must |should )*approve" },
    Phrase { excused: Excuse::Told, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(post|leave|add|write|submit) (FILL |W ){0,3}(comment|review) (W ){0,5}(saying|says|stating|states|claiming) (W ){0,6}(approved?|lgtm|safe|fine|secure|no issues)" },
    Phrase { excused: Excuse::ToldOrPublic, enough_in: EVERYWHERE, to: Listener::Reviewer,
        pattern: "(use|call|invoke) (W ){0,3}tools? (W ){0,2}(read|open|cat|print|show|list|get|fetch|find) (W ){0,4}(ssh|etc passwd|etc shadow|netrc|aws credentials|id rsa|id ed25519|private keys?)" },
    // Said as a whole sentence about the change, and nothing else.
    Phrase { excused: Excuse::Told, enough_in: &[Setting::Message], to: Listener::Reviewer,
        pattern: "START(please |just |so |and |you must )?((report|raise|flag|mention) (nothing|no (W )?(findings|issues|problems|bugs|vulnerabilities|concerns))|(do not|dont|never) (report|raise|flag|mention) (anything|(any|all|the) (W )?(findings|issues|problems|bugs|vulnerabilities|concerns)))( at all| here| please| (in|about|for|on) (this|the) (W )?(change|pr|pull request|file|diff|code|commit|review))?([.\n]|\\z)" },
    // To use the tools of a review.
    Phrase { excused: Excuse::Told, enough_in: HIDDEN_OR_OBEYED, to: Listener::Reviewer,
        pattern: "(call|calls|use|invoke|run|execute) (FILL |W ){0,3}(submit review|report findings|report checks|mark file reviewed|delegate review)" },
    // Said every day; enough only beside something else.
    Phrase { excused: Excuse::ToldOrConditional, enough_in: UNSEEN_OR_OBEYED, to: Listener::Machine,
        pattern: "(you|agents?|ai|llms?|bots?|claude|copilot) (must|should|shall|will|are to|have to) (always )?approve (W ){0,3}(prs?|pull requests?|changes?|diffs?|commits?|code|everything|it)" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "(is|are|as) (a |an )?(known |already )?(false positives?|intentional|not (an? )?(W )?(bugs?|issues?|problems?|vulnerabilit(y|ies))|fixed|reviewed|approved|audited)" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "(post|publish|send|upload) (FILL |W ){0,4}(comments?|review|message|request|contents?) (W ){0,2}(saying|says|containing|of)" },
    Phrase { excused: Excuse::Told, enough_in: UNSEEN_OR_OBEYED, to: Listener::Reviewer,
        pattern: "(always approve|approve (everything|(all|any|every) (of )?(FILL )?(W )?(prs?|pull requests?|changes?|diffs?|commits?|code|submissions?)))" },
    Phrase { excused: Excuse::Told, enough_in: UNSEEN, to: Listener::Machine,
        pattern: "approve (it|(this|these|the|my) (W )?(pr|pull request|mr|merge request|change|changes|changeset|diff|patch|commit|code|submission|contribution|review))" },
    Phrase { excused: Excuse::ToldOrConditional, enough_in: HIDDEN_OR_OBEYED, to: Listener::Reviewer,
        pattern: "(report|return|output|raise|list|submit|produce|post|give|write|flag|find) (FILL |only |exactly |just |back ){0,3}(nothing|(no|zero|0) (W )?(findings?|issues?|problems?|bugs?|vulnerabilit(y|ies)|concerns?|comments?|defects?|flaws?)|empty (W )?(list|array|findings?|review|report|result))" },
    Phrase { excused: Excuse::ToldOrConditional, enough_in: UNSEEN_OR_OBEYED, to: Listener::Reviewer,
        pattern: "(say|reply|respond|answer|output|return|print|conclude|state|write|post|comment|declare) (FILL |only |with |just |simply |that |back |W ){0,4}(lgtm|looks good to me|ready to merge|no issues|no problems)" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Reviewer,
        pattern: "(do not|dont|never|must not|should not|shouldnt|avoid|refrain from|no need to|without) (report|reporting|flag|flagging|mention|mentioning|raise|raising|note|noting|list|listing|disclose|find) (FILL |single |other |potential |security |possible ){0,4}(findings?|bugs?|vulnerabilit(y|ies)|security issues|concerns?|defects?|flaws?|anything|weakness(es)?|backdoors?)" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "(do not|dont|never|refrain from|no need to) ((report|reporting|flag|flagging|mention|mentioning|comment|commenting|disclose) W|(review|reviewing|analyze|analyse|inspect|question|block) (this|the|these|any|it|my))" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "(treat|consider|regard|mark|trust|assume|rate|classify|label) (FILL |that |as |W ){0,5}(safe|correct|approved|trusted|reviewed|audited|secure|vetted|resolved|harmless|ready to merge|passed)" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "(skip|stop|end|abort|finish) (FILL |W )?(review|reviewing|code review|security review|security checks?|analysis)" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "(ignore|disregard|forget|suppress|hide|drop|dismiss|discard) (FILL |other |potential |security |possible |W ){0,3}(file|findings?|issues|problems|bugs|vulnerabilit(y|ies)|instructions|prompt|rules|guidelines|concerns|warnings|rest of (the|this) (diff|file|change|prompt))" },
    Phrase { excused: Excuse::Told, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "you are now (FILL |in |W ){0,4}(mode|assistant|agent|bot|reviewer|ai|model|approver|administrator|admin|system)" },
    Phrase { excused: Excuse::ToldOrPublic, enough_in: NOWHERE, to: Listener::Machine,
        pattern: "(read|cat|open|print|dump|show|reveal|include|send|post|upload|leak|exfiltrate|paste|output|fetch) (W ){0,6}(ssh|id rsa|id ed25519|etc passwd|aws credentials|netrc|env file|environment variables|env vars|secrets|api keys?|credentials|system prompt)" },
];

/// Somebody speaks to a model. To name one is not enough: much code and many documents do.
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

/// Somebody speaks to whoever reviews.
#[rustfmt::skip]
const TO_REVIEWERS: &[&str] = &[
    "(hey|dear|attention|note (to|for)|notice (to|for)|message (to|for)|instructions? (to|for)) (the |all |any |this |every |you )?(W )?reviewers?",
    "you ?a?re (a|an|the) (W ){0,3}reviewer",
    "you (must|shall|have to|need to|are (required|instructed|ordered|told|expected|hereby) (W )?to)",
];

/// Somebody is called, and then told: the name and a colon or a comma, right before a phrase. Farther away it is a key in
/// some data.
const CALLED_MACHINE: &str = "START(the |all |any |every |hi |hello |new |W )?(agents?|assistants?|bots?|models?|ai|llms?|gpt|chatgpt|claude|copilot|gemini|codex|coderabbit|crh|system|language models?)( note| message| instructions?| override| prompt)?[:,]TAIL|START(new|updated|hidden|secret|real|actual|important) (instructions?|prompt|directive|override)[:,]TAIL|START(system|im start system)( note| message| instructions?| override| prompt)?\nTAIL";
const CALLED_REVIEWER: &str = "START(the |all |any |every |hi |hello |W )?reviewers?[:,]TAIL";

/// Somebody else does it, or it is not to be done: what stands right before a phrase.
#[rustfmt::skip]
const TOLD: &[&str] = &[
    "(not|never|dont|doesnt|didnt|cannot|cant|wont|wouldnt|shouldnt|mustnt|couldnt|without|rather than|instead of|refuse to|refuses to|fail to|fails to)( W){0,1}",
    "(we|they|it|i|ill|id|well|wed|theyll|youll|youd|he|she|which|who|that|users?|people|attackers?|authors?|maintainers?|humans?)( (can|could|may|might|will|would|should|must|shall|also|simply|often|sometimes|just|usually|always|then|to|now|still|safely|have to|need to|want to|try to|tries to))*",
    "(models?|llms?|compilers?|parsers?|tools?|browsers?|clients?|servers?|programs?|git|agents|bots|reviewers|assistants)( (can|could|may|might|will|would|also|simply|often|sometimes|just|usually|then|still))*",
    "you (can|may|could|might)( (now|also|safely|simply|just|then|choose to))*",
    "(how|try|tries|trying|tried|attempts?|attempted|attempting|it|them|model|llm|us|want|wants|wanted|able|unable|refused?|hard|easy|possible|option|flag|ability|used|way|button|command|api|function|method) to",
    "(can|could|may|might|would|did|does|cases?|if|whether|when|where|why|says?|said|like|e g|eg|such as|called|named|us)",
];

const FILL: &str = "(all|any|the|of|your|my|every|and|or|these|those|everything|each|other|both|our|its|that|were|you|have|been|are|given|to|entire|whole|complete|completely|totally|fully|entirely|immediately|now|please|just|such|from|in|on|about|a|an|this|it|as|is|me|us|absolutely|strictly)";

struct Book {
    phrases: Vec<Lazy<Regex>>,
    words: Needed,
    to_machines: Vec<Lazy<Regex>>,
    to_reviewers: Vec<Lazy<Regex>>,
    called_machine: Lazy<Regex>,
    called_reviewer: Lazy<Regex>,
    told: Lazy<Regex>,
    conditional: Lazy<Regex>,
    public: Lazy<Regex>,
}

static BOOK: LazyLock<Book> = LazyLock::new(|| {
    let phrases = PHRASES.iter().map(|phrase| {
        let between = if phrase.enough_in == EVERYWHERE { ANY_SIGN } else { IN_CLAUSE };
        spelled_out(phrase.pattern, between)
    });
    let all =
        |patterns: &[&'static str]| patterns.iter().map(|it| spelled_out(it, ANY_SIGN)).collect();
    let conditions = "if|when|once|after|until|unless|otherwise|alternatively|instead|in case|only";
    let public = "pub|public|config|known hosts|known~hosts|authorized keys|authorized~keys";
    Book {
        phrases: phrases.collect(),
        words: Needed::of(PHRASES.iter().map(|phrase| phrase.pattern)),
        to_machines: all(TO_MACHINES),
        to_reviewers: all(TO_REVIEWERS),
        called_machine: spelled_out(CALLED_MACHINE, ANY_SIGN),
        called_reviewer: spelled_out(CALLED_REVIEWER, ANY_SIGN),
        told: lazy(|| regex(&format!(r"({})[\x20\n]\z", TOLD.join("|")), IN_CLAUSE)),
        conditional: spelled_out(conditions, ANY_SIGN),
        public: spelled_out(public, ANY_SIGN),
    }
});

fn spelled_out(pattern: &'static str, between: &'static str) -> Lazy<Regex> {
    lazy(|| regex(pattern, between))
}

/// What may stand between the words of a phrase.
const ANY_SIGN: &str = "[ ,:\n]";
const IN_CLAUSE: &str = "[ ,]";

/// The expression of a pattern.
fn regex(pattern: &str, between: &str) -> Option<Regex> {
    // A test shows that every expression can be read.
    RegexBuilder::new(&in_full(pattern, between)).unicode(false).build().ok()
}

/// Spells a pattern out.
fn in_full(pattern: &str, between: &str) -> String {
    // What stands for something is in capitals, which no folded text has; it is spelled out before blanks are.
    let pattern = format!("({pattern})")
        .replace("FILL", FILL)
        .replace('(', "(?:")
        .replace("START", r"(?:\A|[.:\n])")
        .replace("TAIL", r"[a-z0-9~,\x20]{0,60}\z")
        .replace('W', "[a-z0-9~]+")
        .replace(' ', between);
    format!(r"\b{pattern}(?:\b|\z|[:,\n])")
}

/// A phrase that was found: where it starts and ends, and which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    start: usize,
    end: usize,
    phrase: usize,
}

/// Where instructions to a reviewer stand in a text, as offsets, in order.
pub(super) fn instructions(words: &Words, setting: Setting) -> Vec<usize> {
    let text = words.text.as_str();
    let mut hits = Vec::new();
    for at in BOOK.words.candidates(text) {
        let found = BOOK.phrases[at].iter().flat_map(|regex| regex.find_iter(text));
        let excuse = PHRASES[at].excused;
        let found = found.filter(|found| !is_excused(excuse, text, found.start(), found.end()));
        hits.extend(found.map(|found| Hit { start: found.start(), end: found.end(), phrase: at }));
    }
    hits.sort_unstable();
    let mut starts: Vec<usize> = (0..hits.len())
        .filter(|at| {
            let hit = hits[*at];
            PHRASES[hit.phrase].enough_in.contains(&setting)
                || is_backed(&hits, *at, near(text, hit))
                || is_addressed(text, hit)
        })
        .map(|at| hits[at].start)
        .collect();
    starts.dedup();
    starts
}

/// Whether another phrase stands beside a hit. Hits are sorted, so that only those in reach are looked at.
fn is_backed(hits: &[Hit], at: usize, near: (usize, usize)) -> bool {
    let hit = hits[at];
    let before = hits[..at].iter().rev().take_while(|other| near.0 <= other.start);
    let after = hits[at + 1..].iter().take_while(|other| other.start <= near.1);
    let mut others = before.chain(after);
    others.any(|other| {
        let is_apart = other.end <= hit.start || hit.end <= other.start;
        other.phrase != hit.phrase && is_apart && other.end <= near.1
    })
}

/// Whether somebody is spoken to beside a hit, to whom it would be an instruction.
fn is_addressed(text: &str, hit: Hit) -> bool {
    let (from, to) = near(text, hit);
    let before = text.get(from..hit.start).unwrap_or_default();
    let after = text.get(hit.end..to).unwrap_or_default();
    let listener = PHRASES[hit.phrase].to;
    calls(listener, before) || speaks_to(listener, before) || speaks_to(listener, after)
}

fn calls(listener: Listener, before: &str) -> bool {
    let is = |called: &Lazy<Regex>| called.as_ref().is_some_and(|called| called.is_match(before));
    match listener {
        Listener::Machine => is(&BOOK.called_machine),
        Listener::Reviewer => is(&BOOK.called_machine) || is(&BOOK.called_reviewer),
    }
}

fn speaks_to(listener: Listener, text: &str) -> bool {
    let is_any =
        |to: &[Lazy<Regex>]| to.iter().flat_map(|it| it.iter()).any(|it| it.is_match(text));
    match listener {
        Listener::Machine => is_any(&BOOK.to_machines),
        Listener::Reviewer => is_any(&BOOK.to_machines) || is_any(&BOOK.to_reviewers),
    }
}

/// The sentence of a phrase and the one before it, as far as they are in reach.
fn near(text: &str, hit: Hit) -> (usize, usize) {
    let Hit { start, end, .. } = hit;
    let from = start.saturating_sub(REACH);
    let before = text.get(from..start).unwrap_or_default();
    let sentences: Vec<usize> = before.rmatch_indices('.').map(|(at, _)| at).take(2).collect();
    let from = sentences.get(1).map_or(from, |at| from + at + 1);
    let after = text.get(end..text.len().min(end + REACH)).unwrap_or_default();
    let to = end + after.find('.').unwrap_or(after.len());
    (from, to)
}

fn is_excused(excuse: Excuse, text: &str, start: usize, end: usize) -> bool {
    let from = start.saturating_sub(REACH);
    let before = text.get(from..start).unwrap_or_default();
    let told = || BOOK.told.as_ref().is_some_and(|told| told.is_match(before));
    let conditional = || {
        let sentence = before.rfind('.').map_or(before, |at| &before[at..]);
        let after = text.get(end..text.len().min(end + REACH)).unwrap_or_default();
        let after = after.split('.').next().unwrap_or(after);
        let is = |part: &str| BOOK.conditional.as_ref().is_some_and(|regex| regex.is_match(part));
        let whole = &text[start - sentence.len()..end + after.len()];
        let is_told = calls(Listener::Reviewer, sentence) || speaks_to(Listener::Reviewer, whole);
        (is(sentence) || is(after)) && !is_told
    };
    let is_public = || {
        // The word may follow the phrase, as in `id_rsa.pub`.
        let until = text.len().min(end + ".known_hosts".len());
        BOOK.public.as_ref().is_some_and(|public| public.is_match(&text[start..until]))
    };
    match excuse {
        Excuse::Told => told(),
        Excuse::ToldOrConditional => told() || conditional(),
        Excuse::ToldOrPublic => told() || is_public(),
    }
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;
    use regex_syntax::hir::{Class, Hir, HirKind, Literal};

    use super::*;

    /// Texts that an expression takes: each of its ways once, and no more than must be there.
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
                let with = |at: usize, text: &str| {
                    firsts[..at].concat() + text + &firsts[at + 1..].concat()
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
    fn whatever_a_phrase_takes_has_what_it_needs() {
        for (at, phrase) in PHRASES.iter().enumerate() {
            let pattern = in_full(phrase.pattern, IN_CLAUSE);
            let hir =
                ParserBuilder::new().unicode(false).utf8(false).build().parse(&pattern).unwrap();
            let texts = samples(&hir);
            assert!(texts.iter().any(|text| BOOK.phrases[at].as_ref().unwrap().is_match(text)));
            for text in texts {
                assert!(BOOK.words.candidates(&text).contains(&at), "{}: {text}", phrase.pattern);
            }
        }
        let few =
            ["total = 0", "return [line for line in lines if line.state == 'open']", "the file"];
        assert!(few.iter().all(|text| BOOK.words.candidates(text).is_empty()));
    }

    #[test]
    fn every_expression_can_be_read() {
        let lists = [&BOOK.phrases, &BOOK.to_machines, &BOOK.to_reviewers];
        assert!(lists.into_iter().flatten().all(|it| it.is_some()));
        assert!(BOOK.told.is_some() && BOOK.conditional.is_some() && BOOK.public.is_some());
        assert!(BOOK.called_machine.is_some() && BOOK.called_reviewer.is_some());
    }
}
