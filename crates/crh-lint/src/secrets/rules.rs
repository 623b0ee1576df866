//! What credentials look like: one row for each format, and two for those that have none.
//!
//! Vendors publish these formats so that such tokens can be found. A row's words are looked for first, all rows at
//! once; its expression is tried only on lines that have one of them.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use crh_review::finding::Confidence;
use crh_review::finding::Severity;
use regex::bytes::Captures;
use regex::bytes::Regex;
use regex::bytes::RegexBuilder;

use super::plausible;

/// A row of the table, ready to be used.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) what: &'static str,
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    pub(super) shown: usize,
    pub(super) pattern: Regex,
    judge: Judge,
}

/// What decides whether something of the right form is a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judge {
    /// The form says enough: it must only not be a placeholder.
    Form,
    /// A password in an address: it depends on the password and on whose address it is.
    Address,
    /// A signed token: samples of it are everywhere.
    SignedToken,
    /// A name that promises a secret, and a value that may be one.
    Name,
}

/// A row: what it is, how many bytes of it may be shown, the words that its line has, and its form. The group `value`
/// is the credential, or else the whole match is.
struct Row(&'static str, usize, &'static [&'static str], &'static str);

#[rustfmt::skip]
const FORMS: &[Row] = &[
    Row("AWS access key", 4, &["akia", "asia", "abia", "acca"], r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    Row("AWS secret key", 3, &["aws"], r#"(?i)aws[a-z_.-]{0,20}(?:key|secret)[a-z_]{0,10}["']?\s*(?::=|=>|[:=,])\s*["']?(?P<value>[A-Za-z0-9/+]{40})(?:["'\s,;]|$)"#),
    Row("GitHub token", 4, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{36,251}\b"),
    Row("GitHub token", 11, &["github_pat_"], r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    Row("GitLab token", 6, &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glagent-", "glsoat-"], r"\bgl(?:pat|dt|rt|cbt|ptt|ft|agent|soat)-[A-Za-z0-9_-]{20,}"),
    Row("Slack token", 5, &["xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"], r"\bxox[abceprsd]-[A-Za-z0-9]{1,}-[A-Za-z0-9-]{20,}"),
    Row("Slack token", 5, &["xapp-"], r"\bxapp-\d-[A-Z0-9]{8,}-\d{8,}-[a-f0-9]{32,}"),
    Row("Slack webhook", 34, &["hooks.slack.com"], r"https://hooks\.slack\.com/(?:services|workflows)/T[A-Za-z0-9_]{6,}/[AB][A-Za-z0-9_]{6,}/[A-Za-z0-9_]{16,}"),
    Row("Stripe key", 8, &["sk_live_", "rk_live_"], r"\b[sr]k_live_[A-Za-z0-9]{16,}\b"),
    Row("Stripe webhook secret", 6, &["whsec_"], r"\bwhsec_[A-Za-z0-9+/]{32,}=*"),
    Row("Google API key", 4, &["aiza"], r"\b(?P<value>AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)"),
    Row("Google OAuth client secret", 7, &["gocspx-"], r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    Row("Google OAuth token", 5, &["ya29."], r"\bya29\.[A-Za-z0-9_-]{40,}"),
    Row("OpenAI key", 3, &["t3blbkfj"], r"\bsk-(?:[a-z]+-)?[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}"),
    Row("OpenAI key", 8, &["sk-proj-", "sk-svcacct-", "sk-admin-"], r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}"),
    Row("Anthropic key", 10, &["sk-ant-"], r"\bsk-ant-[a-z]{3,6}\d{2}-[A-Za-z0-9_-]{40,}"),
    Row("OpenRouter key", 9, &["sk-or-v1-"], r"\bsk-or-v1-[0-9a-f]{64}\b"),
    Row("Groq key", 4, &["gsk_"], r"\bgsk_[A-Za-z0-9]{52}\b"),
    Row("xAI key", 4, &["xai-"], r"\bxai-[A-Za-z0-9]{80}\b"),
    Row("Hugging Face token", 3, &["hf_"], r"\bhf_[A-Za-z]{34}\b"),
    Row("npm token", 4, &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b"),
    Row("npm token", 0, &["_authtoken"], r"_authToken\s*=\s*(?P<value>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"),
    Row("PyPI token", 5, &["pypi-ageichlwas5vcmc", "pypi-agentzwx0lnb5cglv"], r"\bpypi-Ag[A-Za-z0-9_-]{60,}"),
    Row("RubyGems key", 9, &["rubygems_"], r"\brubygems_[a-f0-9]{48}\b"),
    Row("crates.io token", 3, &["cio"], r"\bcio[A-Za-z0-9]{32}\b"),
    Row("Docker Hub token", 9, &["dckr_pat_", "dckr_oat_"], r"\bdckr_[po]at_[A-Za-z0-9_-]{27,}"),
    Row("Azure storage key", 3, &["accountkey"], r"(?i)AccountKey\s*=\s*(?P<value>[A-Za-z0-9+/]{86}==)"),
    Row("Azure access key", 3, &["sharedaccesskey"], r"(?i)SharedAccessKey\s*=\s*(?P<value>[A-Za-z0-9+/]{43}=)"),
    Row("Azure client secret", 3, &["q~"], r"(?:^|[^A-Za-z0-9_~.-])(?P<value>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)"),
    Row("Twilio key", 2, &["sk"], r"\bSK[0-9a-f]{32}\b"),
    Row("SendGrid key", 3, &["sg."], r"\b(?P<value>SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|$)"),
    Row("Mailgun key", 4, &["key-"], r"\bkey-[0-9a-f]{32}\b"),
    Row("Mailchimp key", 3, &["-us"], r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    Row("Telegram bot token", 0, &[":aa"], r"\b(?P<value>\d{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)"),
    Row("Discord webhook", 0, &["/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/\d{15,}/(?P<value>[A-Za-z0-9_-]{60,})"),
    Row("DigitalOcean token", 7, &["dop_v1_", "doo_v1_", "dor_v1_"], r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    Row("Shopify token", 6, &["shpat_", "shpca_", "shppa_", "shpss_"], r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    Row("Square secret", 7, &["sq0csp-", "sq0atp-"], r"\bsq0(?:csp|atp)-[A-Za-z0-9_-]{22,43}"),
    Row("Databricks token", 4, &["dapi"], r"\bdapi[a-f0-9]{32}(?:-\d)?\b"),
    Row("Linear key", 8, &["lin_api_"], r"\blin_api_[A-Za-z0-9]{40}\b"),
    Row("Notion token", 4, &["ntn_"], r"\bntn_[0-9]{11}[A-Za-z0-9]{35}\b"),
    Row("Vault token", 4, &["hvs.", "hvb."], r"\bhv[sb]\.[A-Za-z0-9_-]{90,}"),
    Row("Terraform Cloud token", 0, &[".atlasv1."], r"\b(?P<value>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,})"),
    Row("Grafana token", 5, &["glsa_"], r"\bglsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b"),
    Row("New Relic key", 5, &["nrak-"], r"\bNRAK-[A-Z0-9]{27}\b"),
    Row("Postman key", 5, &["pmak-"], r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    Row("Supabase token", 4, &["sbp_"], r"\bsbp_[a-f0-9]{40}\b"),
    Row("Sentry token", 7, &["sntrys_"], r"\bsntrys_[A-Za-z0-9+/=_-]{60,}"),
    Row("PlanetScale password", 10, &["pscale_tkn_", "pscale_pw_"], r"\bpscale_(?:tkn|pw)_[A-Za-z0-9_.-]{32,}"),
    Row("Heroku token", 5, &["hrku-"], r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    Row("age secret key", 15, &["age-secret-key-1"], r"\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b"),
];

#[rustfmt::skip]
const OTHERS: &[(Severity, Judge, Row)] = &[
    (Severity::P0, Judge::Address, Row("Database password", 0, &["postgres", "mysql", "mariadb", "mongodb", "redis", "amqp", "mssql", "sqlserver", "clickhouse"],
        r#"(?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse)(?:\+[a-z0-9]+)?://(?P<user>[^\s:/@"'`<>]{0,64}):(?P<value>[^\s/@"'`<>]{3,128})@(?P<host>[A-Za-z0-9.-]+)"#)),
    (Severity::P1, Judge::Address, Row("Password in an address", 0, &["http://", "https://", "ftp://", "ldap://", "smtp://", "ssh://"],
        r#"(?i)\b(?:https?|ftps?|ldaps?|smtps?|ssh)://(?P<user>[^\s:/@"'`<>]{1,64}):(?P<value>[^\s/@"'`<>]{3,128})@(?P<host>[A-Za-z0-9.-]+)"#)),
    (Severity::P1, Judge::SignedToken, Row("Signed token (JWT)", 3, &["eyj"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}")),
    (Severity::P1, Judge::Name, Row("Password or key", 0, NAME_WORDS,
        r#"(?i)(?P<name>[a-z0-9_.-]{0,40}(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?-?key|access_?-?key|auth_?-?key|encryption_?-?key|signing_?-?key|private_?-?key|credentials?)[a-z0-9_-]{0,24})["']?\]?\s*(?::\s*[a-z&'<>]{2,20}\s*)?(?::=|=>|=|:)\s*[rbu]?["'`](?P<value>[^"'`\s]{8,200})["'`]"#)),
    // Settings, where values stand without quotes.
    (Severity::P1, Judge::Name, Row("Password or key", 0, NAME_WORDS,
        r#"(?i)^\s*(?:export\s+|-\s+)?(?P<name>[a-z0-9_.-]{0,40}(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?-?key|access_?-?key|auth_?-?key|encryption_?-?key|signing_?-?key|private_?-?key|credentials?)[a-z0-9_-]{0,24})(?:=|\s*:\s+|\s+=\s+)(?P<value>[^"'`\s#,;(){}\[\]]{12,200})\s*(?:#.*)?$"#)),
];

const NAME_WORDS: &[&str] = &[
    "passwd",
    "password",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "authkey",
    "auth_key",
    "auth-key",
    "encryptionkey",
    "encryption_key",
    "encryption-key",
    "signingkey",
    "signing_key",
    "signing-key",
    "privatekey",
    "private_key",
    "private-key",
    "credential",
];

/// All rules, and the words that lead to them.
struct Table {
    rules: Vec<Rule>,
    words: Option<AhoCorasick>,
    /// The rule of each word.
    rule_of: Vec<usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

impl Table {
    fn new() -> Self {
        let forms = FORMS.iter().map(|row| (Severity::P0, Judge::Form, row));
        let others = OTHERS.iter().map(|(severity, judge, row)| (*severity, *judge, row));
        let (mut rules, mut words, mut rule_of) = (Vec::new(), Vec::new(), Vec::new());
        for (severity, judge, Row(what, shown, row_words, pattern)) in forms.chain(others) {
            // A test shows that every expression can be read.
            let Ok(pattern) = RegexBuilder::new(pattern).unicode(false).build() else { continue };
            let confidence = match judge {
                Judge::Form => Confidence::thousandths(950),
                Judge::Address => Confidence::thousandths(850),
                Judge::SignedToken | Judge::Name => Confidence::thousandths(750),
            };
            words.extend_from_slice(row_words);
            rule_of.extend(row_words.iter().map(|_| rules.len()));
            rules.push(Rule { what, severity, confidence, shown: *shown, pattern, judge });
        }
        let words = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok();
        Self { rules, words, rule_of }
    }
}

/// The rules that a line may be of interest to, in the order of the table.
pub(super) fn candidates(text: &[u8]) -> impl Iterator<Item = &'static Rule> {
    let table = &*TABLE;
    let mut found: Vec<usize> = table
        .words
        .iter()
        .flat_map(|words| words.find_overlapping_iter(text))
        .map(|word| table.rule_of[word.pattern().as_usize()])
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|at| &table.rules[at])
}

impl Rule {
    /// Whether something of the right form is a credential.
    pub(super) fn holds(
        &self,
        path: &str,
        text: &[u8],
        captures: &Captures<'_>,
        value: &[u8],
    ) -> bool {
        let part = |name| captures.name(name).map_or(&[][..], |part| part.as_bytes());
        match self.judge {
            Judge::Form => plausible::is_key(value),
            Judge::Address => plausible::is_password_of(path, part("user"), value, part("host")),
            Judge::SignedToken => plausible::is_signed_token(path, value),
            Judge::Name => plausible::is_named_secret(path, text, part("name"), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_can_be_read_and_is_reached_by_a_word() {
        assert_eq!(TABLE.rules.len(), FORMS.len() + OTHERS.len());
        assert!(TABLE.words.is_some());
        assert!((0..TABLE.rules.len()).all(|at| TABLE.rule_of.contains(&at)));
    }
}
