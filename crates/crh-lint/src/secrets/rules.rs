//! Credential formats: one table row per vendor format, and some rows for values without a format.
//!
//! Vendors publish these formats for scanners such as this one. One pass over a line searches the
//! keywords of all rows. The regular expression of a row runs only on lines with one of its
//! keywords.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::checksum::Checksum;
use super::{checksum, plausible, private_key};
use crate::lazy_option::{LazyOption, lazy};
use crate::{LintRule, paths};
use crh_review::finding::{Category, Confidence, Severity};

/// A row of the table with its lint rule and its compiled regular expression.
#[derive(Debug)]
pub(super) struct SecretFormat {
    pub(super) rule: &'static LintRule,
    pub(super) description: &'static str,
    pub(super) visible_prefix: usize,
    pub(super) pattern: LazyOption<Regex>,
    judge: SecretJudge,
}

/// How crh confirms that a match is a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecretJudge {
    /// By the format alone, unless the value is a placeholder.
    Format,
    /// As a password in a URL, by the password and the host.
    Address,
    /// As a password in a field of its own, next to the host.
    Field,
    /// As a password in a connection string. In code the string must be quoted, because assignments
    /// look like its fields.
    ConnectionString,
    /// As the value of a setting that only holds credentials: it must be random.
    Random,
    /// As a JWT that is not a sample; samples are common.
    SignedToken,
    /// As a quoted value with a suspicious name.
    Name,
    /// As an unquoted value with a suspicious name. Not in code, where it is a type or a variable.
    Setting,
}

/// Rule id, description, bytes at the start of the value that may be shown, keywords, and regular
/// expression. The credential is the group `value`, or the whole match if there is no such group.
struct FormatRow(&'static str, &'static str, usize, &'static [&'static str], &'static str);

#[rustfmt::skip]
const FORMATS: &[FormatRow] = &[
    FormatRow("secrets/aws-access-key", "AWS access key", 4, &["akia", "asia", "abia", "acca"], r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    FormatRow("secrets/aws-secret-key", "AWS secret key", 0, &["aws"], r#"(?i)aws[a-z_.-]{0,20}(?:key|secret)[a-z_]{0,10}["']?\s*(?::=|=>|[:=,])\s*["']?(?P<value>[A-Za-z0-9/+]{40})(?:["'\s,;]|$)"#),
    FormatRow("secrets/github-token", "GitHub token", 4, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{36,251}\b"),
    FormatRow("secrets/github-fine-grained-token", "GitHub token", 11, &["github_pat_"], r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    FormatRow("secrets/gitlab-token", "GitLab token", 5, &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glagent-", "glsoat-", "glimt-", "glffct-", "gloas-"], r"\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|agent|soat|imt|ffct|oas)-[A-Za-z0-9_.-]{20,}"),
    FormatRow("secrets/slack-token", "Slack token", 5, &["xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"], r"\bxox[abceprsd]-[A-Za-z0-9]{1,}-[A-Za-z0-9-]{20,}"),
    FormatRow("secrets/slack-app-token", "Slack token", 5, &["xapp-"], r"\bxapp-\d-[A-Z0-9]{8,}-\d{8,}-[a-f0-9]{32,}"),
    FormatRow("secrets/slack-webhook", "Slack webhook", 34, &["hooks.slack.com"], r"https://hooks\.slack\.com/(?:services|workflows)/T[A-Za-z0-9_]{6,}/[AB][A-Za-z0-9_]{6,}/[A-Za-z0-9_]{16,}"),
    FormatRow("secrets/stripe-key", "Stripe key", 8, &["sk_live_", "rk_live_"], r"\b[sr]k_live_[A-Za-z0-9]{16,}\b"),
    FormatRow("secrets/stripe-webhook-secret", "Stripe webhook secret", 6, &["whsec_"], r"\bwhsec_[A-Za-z0-9+/]{32,}=*"),
    FormatRow("secrets/google-api-key", "Google API key", 4, &["aiza"], r"\b(?P<value>AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)"),
    FormatRow("secrets/google-oauth-client-secret", "Google OAuth client secret", 7, &["gocspx-"], r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    FormatRow("secrets/google-oauth-token", "Google OAuth token", 5, &["ya29."], r"\bya29\.[A-Za-z0-9_-]{40,}"),
    FormatRow("secrets/openai-key", "OpenAI key", 3, &["t3blbkfj"], r"\bsk-(?:[a-z]+-)?[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}"),
    FormatRow("secrets/openai-project-key", "OpenAI key", 8, &["sk-proj-", "sk-svcacct-", "sk-admin-"], r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}"),
    FormatRow("secrets/openai-legacy-key", "OpenAI key", 3, &["sk-"], r"\b(?P<value>sk-[A-Za-z0-9]{48})(?:[^A-Za-z0-9_-]|$)"),
    FormatRow("secrets/anthropic-key", "Anthropic key", 7, &["sk-ant-"], r"\bsk-ant-[a-z]{3,6}\d{2}-[A-Za-z0-9_-]{40,}"),
    FormatRow("secrets/openrouter-key", "OpenRouter key", 9, &["sk-or-v1-"], r"\bsk-or-v1-[0-9a-f]{64}\b"),
    FormatRow("secrets/groq-key", "Groq key", 4, &["gsk_"], r"\bgsk_[A-Za-z0-9]{52}\b"),
    FormatRow("secrets/xai-key", "xAI key", 4, &["xai-"], r"\bxai-[A-Za-z0-9]{80}\b"),
    FormatRow("secrets/hugging-face-token", "Hugging Face token", 3, &["hf_"], r"\bhf_[A-Za-z0-9]{34}\b"),
    FormatRow("secrets/npm-token", "npm token", 4, &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b"),
    FormatRow("secrets/npm-legacy-token", "npm token", 0, &["_authtoken"], r"_authToken\s*=\s*(?P<value>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"),
    FormatRow("secrets/pypi-token", "PyPI token", 5, &["pypi-ageichlwas5vcmc", "pypi-agentzwx0lnb5cglv"], r"\bpypi-Ag[A-Za-z0-9_-]{60,}"),
    FormatRow("secrets/rubygems-key", "RubyGems key", 9, &["rubygems_"], r"\brubygems_[a-f0-9]{48}\b"),
    FormatRow("secrets/crates-io-token", "crates.io token", 3, &["cio"], r"\bcio[A-Za-z0-9]{32}\b"),
    FormatRow("secrets/docker-hub-token", "Docker Hub token", 9, &["dckr_pat_", "dckr_oat_"], r"\bdckr_[po]at_[A-Za-z0-9_-]{27,}"),
    FormatRow("secrets/azure-storage-key", "Azure storage key", 0, &["accountkey"], r"(?i)AccountKey\s*=\s*(?P<value>[A-Za-z0-9+/]{86}==)"),
    FormatRow("secrets/azure-access-key", "Azure access key", 0, &["sharedaccesskey"], r"(?i)SharedAccessKey\s*=\s*(?P<value>[A-Za-z0-9+/]{43}=)"),
    FormatRow("secrets/azure-client-secret", "Azure client secret", 0, &["q~"], r"(?:^|[^A-Za-z0-9_~.-])(?P<value>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)"),
    FormatRow("secrets/twilio-key", "Twilio key", 2, &["sk"], r"\bSK[0-9a-f]{32}\b"),
    FormatRow("secrets/sendgrid-key", "SendGrid key", 3, &["sg."], r"\b(?P<value>SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|$)"),
    FormatRow("secrets/mailgun-key", "Mailgun key", 4, &["key-"], r"\bkey-[0-9a-f]{32}\b"),
    FormatRow("secrets/mailchimp-key", "Mailchimp key", 0, &["-us"], r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    FormatRow("secrets/telegram-bot-token", "Telegram bot token", 0, &[":aa"], r"\b(?P<value>\d{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)"),
    FormatRow("secrets/discord-webhook", "Discord webhook", 0, &["/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/\d{15,}/(?P<value>[A-Za-z0-9_-]{60,})"),
    FormatRow("secrets/discord-bot-token", "Discord bot token", 0, &["discord", "bot", "token"], r#"(?i:discord|bot|token)[^\r\n]{0,60}?[^A-Za-z0-9_.-](?P<value>[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})(?:[^A-Za-z0-9_.(-]|$)"#),
    FormatRow("secrets/digitalocean-token", "DigitalOcean token", 7, &["dop_v1_", "doo_v1_", "dor_v1_"], r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    FormatRow("secrets/shopify-token", "Shopify token", 6, &["shpat_", "shpca_", "shppa_", "shpss_"], r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    FormatRow("secrets/square-secret", "Square secret", 7, &["sq0csp-", "sq0atp-"], r"\bsq0(?:csp|atp)-[A-Za-z0-9_-]{22,43}"),
    FormatRow("secrets/databricks-token", "Databricks token", 4, &["dapi"], r"\bdapi[a-f0-9]{32}(?:-\d)?\b"),
    FormatRow("secrets/linear-key", "Linear key", 8, &["lin_api_"], r"\blin_api_[A-Za-z0-9]{40}\b"),
    FormatRow("secrets/notion-token", "Notion token", 4, &["ntn_", "secret_"], r"\b(?:ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43})\b"),
    FormatRow("secrets/vault-token", "Vault token", 4, &["hvs.", "hvb."], r"\bhv[sb]\.(?:[A-Za-z0-9_-]{90,}|[A-Za-z0-9]{24}\b)"),
    FormatRow("secrets/terraform-cloud-token", "Terraform Cloud token", 0, &[".atlasv1."], r"\b(?P<value>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,})"),
    FormatRow("secrets/grafana-token", "Grafana token", 5, &["glsa_"], r"\bglsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b"),
    FormatRow("secrets/new-relic-key", "New Relic key", 5, &["nrak-"], r"\bNRAK-[A-Z0-9]{27}\b"),
    FormatRow("secrets/postman-key", "Postman key", 5, &["pmak-"], r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    FormatRow("secrets/supabase-token", "Supabase token", 4, &["sbp_"], r"\bsbp_[a-f0-9]{40}\b"),
    FormatRow("secrets/sentry-token", "Sentry token", 7, &["sntrys_"], r"\bsntrys_[A-Za-z0-9+/=_-]{60,}"),
    FormatRow("secrets/planetscale-password", "PlanetScale password", 10, &["pscale_tkn_", "pscale_pw_"], r"\bpscale_(?:tkn|pw)_[A-Za-z0-9_.-]{32,}"),
    FormatRow("secrets/heroku-token", "Heroku token", 5, &["hrku-"], r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    FormatRow("secrets/age-secret-key", "age secret key", 15, &["age-secret-key-1"], r"\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b"),
    FormatRow("secrets/gitlab-runner-token", "GitLab runner token", 9, &["gr1348941"], r"\bGR1348941[A-Za-z0-9_-]{20,}"),
    FormatRow("secrets/atlassian-token", "Atlassian token", 6, &["atatt3", "atctt3"], r"\bAT[AC]TT3[A-Za-z0-9_=-]{60,}"),
    FormatRow("secrets/bitbucket-password", "Bitbucket password", 4, &["atbb"], r"\bATBB[A-Za-z0-9]{32}\b"),
    FormatRow("secrets/perplexity-key", "Perplexity key", 5, &["pplx-"], r"\bpplx-[A-Za-z0-9]{40,64}\b"),
    FormatRow("secrets/replicate-token", "Replicate token", 3, &["r8_"], r"\br8_[A-Za-z0-9]{37}\b"),
    FormatRow("secrets/nvidia-key", "NVIDIA key", 6, &["nvapi-"], r"\bnvapi-[A-Za-z0-9_-]{60,70}"),
    FormatRow("secrets/cerebras-key", "Cerebras key", 4, &["csk-"], r"\bcsk-[a-z0-9]{48}\b"),
    FormatRow("secrets/pinecone-key", "Pinecone key", 5, &["pcsk_"], r"\bpcsk_[A-Za-z0-9]{5,7}_[A-Za-z0-9]{60,70}\b"),
    FormatRow("secrets/tavily-key", "Tavily key", 5, &["tvly-"], r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{32}\b"),
    FormatRow("secrets/langsmith-key", "LangSmith key", 5, &["lsv2_"], r"\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b"),
    FormatRow("secrets/fly-io-token", "Fly.io token", 4, &["fo1_", "fm1r_", "fm1a_", "fm2_"], r"\b(?:fo1_[A-Za-z0-9_-]{43}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{100,}={0,3})"),
    FormatRow("secrets/doppler-token", "Doppler token", 6, &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], r"\bdp\.(?:pt|ct|sa|scim|audit|st(?:\.[a-z0-9_-]{2,35})?)\.[A-Za-z0-9]{40,44}\b"),
    FormatRow("secrets/dropbox-token", "Dropbox token", 3, &["sl."], r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{130,}"),
    FormatRow("secrets/figma-token", "Figma token", 5, &["figd_", "figu_"], r"\bfig[du]_[A-Za-z0-9_-]{40,}"),
    FormatRow("secrets/netlify-token", "Netlify token", 4, &["nfp_"], r"\bnfp_[A-Za-z0-9]{36}\b"),
    FormatRow("secrets/pulumi-token", "Pulumi token", 4, &["pul-"], r"\bpul-[a-f0-9]{40}\b"),
    FormatRow("secrets/onepassword-token", "1Password token", 4, &["ops_eyj"], r"\bops_eyJ[A-Za-z0-9+/]{100,}={0,3}"),
    FormatRow("secrets/airtable-token", "Airtable token", 3, &["pat"], r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    FormatRow("secrets/alibaba-cloud-key", "Alibaba Cloud key", 4, &["ltai"], r"\bLTAI[A-Za-z0-9]{20}\b"),
    FormatRow("secrets/artifactory-key", "Artifactory key", 4, &["akcp"], r"\bAKCp[A-Za-z0-9]{69,73}\b"),
    FormatRow("secrets/brevo-key", "Brevo key", 8, &["xkeysib-"], r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    FormatRow("secrets/buildkite-token", "Buildkite token", 5, &["bkua_"], r"\bbkua_[a-f0-9]{40}\b"),
    FormatRow("secrets/clojars-token", "Clojars token", 8, &["clojars_"], r"\bCLOJARS_[A-Za-z0-9]{60}\b"),
    FormatRow("secrets/cloudflare-origin-key", "Cloudflare origin key", 5, &["v1.0-"], r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    FormatRow("secrets/contentful-token", "Contentful token", 6, &["cfpat-"], r"\bCFPAT-[A-Za-z0-9_-]{43}"),
    FormatRow("secrets/dynatrace-token", "Dynatrace token", 7, &["dt0c01."], r"\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    FormatRow("secrets/easypost-key", "EasyPost key", 4, &["ezak"], r"\bEZAK[A-Za-z0-9]{54}\b"),
    FormatRow("secrets/facebook-token", "Facebook token", 4, &["eaam", "eaac"], r"\bEAA[MC][A-Za-z0-9]{100,}"),
    FormatRow("secrets/firebase-server-key", "Firebase server key", 4, &[":apa91b"], r"\bAAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{134}"),
    FormatRow("secrets/grafana-cloud-token", "Grafana Cloud token", 4, &["glc_eyj"], r"\bglc_eyJ[A-Za-z0-9+/]{32,400}={0,3}"),
    FormatRow("secrets/infracost-key", "Infracost key", 4, &["ico-"], r"\bico-[A-Za-z0-9]{32}\b"),
    FormatRow("secrets/mapbox-secret-token", "Mapbox secret token", 3, &["sk.eyj"], r"\bsk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{22}"),
    FormatRow("secrets/nuget-key", "NuGet key", 3, &["oy2"], r"\boy2[a-z0-9]{43}\b"),
    FormatRow("secrets/openshift-token", "OpenShift token", 7, &["sha256~"], r"\bsha256~[A-Za-z0-9_-]{43}"),
    FormatRow("secrets/plaid-token", "Plaid token", 7, &["access-production-"], r"\baccess-production-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    FormatRow("secrets/posthog-personal-key", "PostHog personal key", 4, &["phx_"], r"\bphx_[A-Za-z0-9_]{43,50}\b"),
    FormatRow("secrets/prefect-key", "Prefect key", 4, &["pnu_"], r"\bpnu_[A-Za-z0-9]{36}\b"),
    FormatRow("secrets/razorpay-key", "Razorpay key", 9, &["rzp_live_"], r"\brzp_live_[A-Za-z0-9]{14,}\b"),
    FormatRow("secrets/readme-key", "ReadMe key", 5, &["rdme_"], r"\brdme_[a-z0-9]{70}\b"),
    FormatRow("secrets/resend-key", "Resend key", 3, &["re_"], r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b"),
    FormatRow("secrets/sentry-user-token", "Sentry user token", 7, &["sntryu_"], r"\bsntryu_[a-f0-9]{64}\b"),
    FormatRow("secrets/shippo-key", "Shippo key", 12, &["shippo_live_"], r"\bshippo_live_[a-f0-9]{40}\b"),
    FormatRow("secrets/sonarqube-token", "SonarQube token", 4, &["sqp_", "squ_", "sqa_"], r"\bsq[pua]_[a-f0-9]{40}\b"),
    FormatRow("secrets/sourcegraph-token", "Sourcegraph token", 4, &["sgp_"], r"\bsgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}\b"),
    FormatRow("secrets/square-access-token", "Square access token", 4, &["eaaa"], r"\b(?P<value>EAAA[A-Za-z0-9_-]{60})(?:[^A-Za-z0-9_-]|$)"),
    FormatRow("secrets/tailscale-key", "Tailscale key", 6, &["tskey-"], r"\btskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}\b"),
    FormatRow("secrets/typeform-token", "Typeform token", 4, &["tfp_"], r"\btfp_[A-Za-z0-9_.=-]{59}"),
    FormatRow("secrets/teams-webhook", "Teams webhook", 0, &["webhook.office.com"], r"\.webhook\.office\.com/webhookb2/(?P<value>[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36})"),
    FormatRow("secrets/yandex-cloud-key", "Yandex Cloud key", 4, &["aqvn"], r"\bAQVN[A-Za-z0-9_-]{35,38}\b"),
];

/// Formats that other data may match too: hexadecimal digits after a short word, or common starts
/// of base64 data. crh does not search them in lock files and in files excluded from review.
#[rustfmt::skip]
const AMBIGUOUS_FORMATS: [&str; 7] = [
    "secrets/crates-io-token", "secrets/twilio-key", "secrets/mailgun-key", "secrets/mailchimp-key",
    "secrets/discord-bot-token", "secrets/facebook-token", "secrets/square-access-token",
];

/// Values that only their context shows to be credentials, with the severity of each row.
#[rustfmt::skip]
const CONTEXT_FORMATS: &[(Severity, SecretJudge, FormatRow)] = &[
    (Severity::P0, SecretJudge::Address, FormatRow("secrets/database-password", "Database password", 0, &["postgres", "mysql", "mariadb", "mongodb", "redis", "amqp", "mssql", "sqlserver", "clickhouse", "cockroachdb", "oracle"],
        r#"(?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb|oracle)(?:\+[a-z0-9]+)?://(?P<user>[^\s:/@"'`<>]{0,64}):(?P<value>[^\s/@"'`<>]{3,128})@(?P<host>[A-Za-z0-9.-]+)"#)),
    (Severity::P0, SecretJudge::ConnectionString, FormatRow("secrets/connection-string-password", "Database password", 0, &["password=", "pwd=", "password =", "pwd ="],
        r#"(?i)\b(?:server|data source|host|addr|address)\s*=\s*(?:tcp:)?(?P<host>[A-Za-z0-9.-]+)(?:[^"'\r\n]{0,300}?;\s*|(?:\s+[a-z_]+=[^\s"'(),]+){0,9}?\s+)(?:password|pwd)\s*=\s*(?P<value>[^;"'`<>,\s]{6,128})"#)),
    (Severity::P0, SecretJudge::Field, FormatRow("secrets/jdbc-password", "Database password", 0, &["jdbc:"],
        r#"(?i)\bjdbc:[a-z0-9:]+//(?P<host>[A-Za-z0-9.-]+)[^\s"'`<>]*?[?&;](?:password|pwd)=(?P<value>[^\s&;"'`<>]{6,128})"#)),
    (Severity::P1, SecretJudge::Field, FormatRow("secrets/netrc-password", "Password of a machine", 0, &["machine"],
        r"\bmachine\s+(?P<host>[A-Za-z0-9.-]+)\s+login\s+(?P<user>\S{1,64})\s+password\s+(?P<value>\S{6,128})")),
    (Severity::P1, SecretJudge::Random, FormatRow("secrets/registry-token", "Registry token", 0, &["_auth", "_password"],
        r#"(?:^\s*|//\S+/:)(?:_authToken|_auth|_password)\s*=\s*"?(?P<value>[A-Za-z0-9+/_.=-]{16,400})"?\s*$"#)),
    (Severity::P1, SecretJudge::Address, FormatRow("secrets/password-in-address", "Password in an address", 0, &["http://", "https://", "ftp://", "ftps://", "sftp://", "ldap://", "ldaps://", "smtp://", "smtps://", "ssh://"],
        r#"(?i)\b(?:https?|s?ftps?|ldaps?|smtps?|ssh)://(?P<user>[^\s:/@"'`<>]{1,64}):(?P<value>[^\s/@"'`<>]{3,128})@(?P<host>[A-Za-z0-9.-]+)"#)),
    (Severity::P1, SecretJudge::SignedToken, FormatRow("secrets/signed-token", "Signed token (JWT)", 3, &["eyj"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}")),
    (Severity::P1, SecretJudge::Name, FormatRow("secrets/password-or-key", "Password or key", 0, NAME_WORDS,
        r#"(?i)(?P<name>[a-z0-9_.-]{0,40}(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?-?key|access_?-?key|auth_?-?key|encryption_?-?key|signing_?-?key|private_?-?key|credentials?)[a-z0-9_-]{0,24})["']?\]?\s*(?::\s*[a-z&'<>]{2,20}\s*)?(?::=|=>|=|:)\s*[rbu]?["'`](?P<value>[^"'`\s]{8,200})["'`]"#)),
    // Unquoted values in settings files.
    (Severity::P1, SecretJudge::Setting, FormatRow("secrets/password-in-settings", "Password or key", 0, NAME_WORDS,
        r#"(?i)^\s*(?:export\s+|ENV\s+|ARG\s+|-\s+)?(?P<name>[a-z0-9_.-]{0,40}(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?-?key|access_?-?key|auth_?-?key|encryption_?-?key|signing_?-?key|private_?-?key|credentials?)[a-z0-9_-]{0,24})(?:=|\s*:\s+|\s+=\s+)(?P<value>[^"'`\s#,;(){}\[\]][^"'`\s,;(){}\[\]]{11,199})(?:\s+#.*|\s*)$"#)),
];

#[rustfmt::skip]
const NAME_WORDS: &[&str] = &[
    "passwd", "password", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "accesskey",
    "access_key", "access-key", "authkey", "auth_key", "auth-key", "encryptionkey", "encryption_key",
    "encryption-key", "signingkey", "signing_key", "signing-key", "privatekey", "private_key", "private-key",
    "credential",
];

/// All formats and their keywords.
struct FormatTable {
    formats: Vec<SecretFormat>,
    keyword_search: Option<AhoCorasick>,
    /// Index of the format of each keyword.
    format_of_keyword: Vec<usize>,
}

static TABLE: LazyLock<FormatTable> = LazyLock::new(FormatTable::new);

/// The lint rules of all table rows in order, and the rule for private keys.
pub(super) const ALL: [LintRule; FORMATS.len() + CONTEXT_FORMATS.len() + 1] = {
    let mut all = [private_key::RULE; FORMATS.len() + CONTEXT_FORMATS.len() + 1];
    let mut at = 0;
    while at < FORMATS.len() {
        all[at] = rule(&FORMATS[at], Severity::P0, SecretJudge::Format);
        at += 1;
    }
    while at < FORMATS.len() + CONTEXT_FORMATS.len() {
        let (severity, judge, row) = &CONTEXT_FORMATS[at - FORMATS.len()];
        all[at] = rule(row, *severity, *judge);
        at += 1;
    }
    all
};

const fn rule(row: &FormatRow, severity: Severity, judge: SecretJudge) -> LintRule {
    let confidence = match judge {
        SecretJudge::Format => Confidence::thousandths(950),
        SecretJudge::Address
        | SecretJudge::Field
        | SecretJudge::ConnectionString
        | SecretJudge::Random => Confidence::thousandths(850),
        SecretJudge::SignedToken | SecretJudge::Name | SecretJudge::Setting => {
            Confidence::thousandths(750)
        }
    };
    LintRule {
        id: row.0,
        severity,
        category: Category::Security,
        confidence,
        summary: row.1,
        aliases: &[],
    }
}

impl FormatTable {
    fn new() -> Self {
        let vendor_rows = FORMATS.iter().map(|row| (SecretJudge::Format, row));
        let context_rows = CONTEXT_FORMATS.iter().map(|(_, judge, row)| (*judge, row));
        let (mut formats, mut keywords, mut format_of_keyword) =
            (Vec::new(), Vec::new(), Vec::new());
        let rows = vendor_rows.chain(context_rows).zip(super::RULES);
        for ((judge, FormatRow(_, description, visible_prefix, row_keywords, pattern)), rule) in
            rows
        {
            // A test checks that every pattern compiles, so `ok` hides no error here.
            let pattern = lazy(|| RegexBuilder::new(pattern).unicode(false).build().ok());
            keywords.extend_from_slice(row_keywords);
            format_of_keyword.extend(row_keywords.iter().map(|_| formats.len()));
            formats.push(SecretFormat {
                rule,
                description,
                visible_prefix: *visible_prefix,
                pattern,
                judge,
            });
        }
        let keyword_search =
            AhoCorasick::builder().ascii_case_insensitive(true).build(keywords).ok();
        Self { formats, keyword_search, format_of_keyword }
    }
}

/// The formats that may match a line, in table order.
pub(super) fn candidates(text: &[u8]) -> impl Iterator<Item = &'static SecretFormat> {
    let table = &*TABLE;
    let mut indexes: Vec<usize> = table
        .keyword_search
        .iter()
        .flat_map(|search| search.find_overlapping_iter(text))
        .map(|keyword| table.format_of_keyword[keyword.pattern().as_usize()])
        .collect();
    indexes.sort_unstable();
    indexes.dedup();
    indexes.into_iter().map(|index| &table.formats[index])
}

impl SecretFormat {
    /// Whether the format alone is enough, without a suspicious name or context.
    pub(super) fn is_unambiguous(&self) -> bool {
        match self.judge {
            SecretJudge::Format => !AMBIGUOUS_FORMATS.contains(&self.rule.id),
            SecretJudge::Address
            | SecretJudge::Field
            | SecretJudge::ConnectionString
            | SecretJudge::Random
            | SecretJudge::SignedToken
            | SecretJudge::Name
            | SecretJudge::Setting => false,
        }
    }

    /// Severity and confidence of a match; `None` if it is not a credential.
    pub(super) fn judge(
        &self,
        path: &str,
        text: &[u8],
        captures: &Captures<'_>,
        value: &[u8],
    ) -> Option<(Severity, Confidence)> {
        let part = |name| captures.name(name).map_or(&[][..], |part| part.as_bytes());
        let is_credential = match self.judge {
            SecretJudge::Format => return self.judge_format(path, value),
            SecretJudge::Address => {
                plausible::is_password_in_url(path, part("user"), value, part("host"))
            }
            SecretJudge::Field => {
                plausible::is_password_in_field(path, part("user"), value, part("host"))
            }
            SecretJudge::ConnectionString => {
                let start = captures.get(0).map_or(0, |whole_match| whole_match.start());
                (!paths::is_code(path) || plausible::is_quoted(&text[..start]))
                    && plausible::is_password_in_field(path, part("user"), value, part("host"))
            }
            SecretJudge::Random => {
                !paths::is_code(path) && plausible::is_random_secret(path, value)
            }
            SecretJudge::SignedToken => plausible::is_signed_token(path, value),
            SecretJudge::Name => plausible::is_named_secret(path, text, part("name"), value),
            SecretJudge::Setting => {
                !paths::is_code(path) && plausible::is_named_secret(path, text, part("name"), value)
            }
        };
        is_credential.then_some((self.rule.severity, self.rule.confidence))
    }

    /// A valid checksum proves a key in any file. Without one, a key in a sample or document may be
    /// made up.
    fn judge_format(&self, path: &str, value: &[u8]) -> Option<(Severity, Confidence)> {
        let is_example = paths::is_sample_or_document(path);
        let rating = match checksum::verify(value) {
            Checksum::Valid => (self.rule.severity, Confidence::thousandths(990)),
            Checksum::Invalid if is_example => return None,
            Checksum::Absent if is_example => (Severity::P1, Confidence::thousandths(800)),
            // Real tokens have a valid checksum, but people alter tokens before they commit them.
            Checksum::Invalid => (self.rule.severity, Confidence::thousandths(800)),
            Checksum::Absent => (self.rule.severity, self.rule.confidence),
        };
        plausible::is_key(value, self.visible_prefix).then_some(rating)
    }
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;
    use regex_syntax::hir::literal::Extractor;
    use regex_syntax::hir::{Class, Hir, HirKind, Literal};

    use super::*;

    #[test]
    fn every_expression_compiles_and_has_a_keyword() {
        assert_eq!(TABLE.formats.len(), FORMATS.len() + CONTEXT_FORMATS.len());
        assert!(TABLE.formats.iter().all(|format| format.pattern.is_some()));
        assert!(TABLE.keyword_search.is_some());
        assert!((0..TABLE.formats.len()).all(|at| TABLE.format_of_keyword.contains(&at)));
        // The formats are in the order of the rows.
        for (format, row) in
            TABLE.formats.iter().zip(FORMATS.iter().chain(CONTEXT_FORMATS.iter().map(|it| &it.2)))
        {
            assert_eq!((format.rule.id, format.description), (row.0, row.1));
        }
        assert_eq!(super::super::RULES.last(), Some(&private_key::RULE));
        assert!(AMBIGUOUS_FORMATS.iter().all(|id| FORMATS.iter().any(|row| row.0 == *id)));
    }

    /// A deterministic pseudo-random generator.
    struct RandomNumbers(u64);

    impl RandomNumbers {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap() % limit
        }
    }

    /// Generates a short text that an expression matches, with random letters.
    fn sample(hir: &Hir, random: &mut RandomNumbers, text: &mut Vec<u8>) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(Literal(bytes)) => text.extend_from_slice(bytes),
            HirKind::Class(class) => {
                let bytes: Vec<u8> = match class {
                    Class::Bytes(class) => {
                        class.iter().flat_map(|it| it.start()..=it.end()).collect()
                    }
                    Class::Unicode(class) => {
                        let all = class.iter().flat_map(|it| it.start()..=it.end());
                        all.filter_map(|letter| u8::try_from(letter).ok()).collect()
                    }
                };
                // A class that only ends a token is filled with a space.
                let space = bytes.contains(&b' ').then_some(b' ');
                text.push(space.unwrap_or_else(|| bytes[random.below(bytes.len())]));
            }
            HirKind::Repetition(repetition) => {
                (0..repetition.min).for_each(|_| sample(&repetition.sub, random, text));
            }
            HirKind::Capture(capture) => sample(&capture.sub, random, text),
            HirKind::Concat(parts) => parts.iter().for_each(|it| sample(it, random, text)),
            HirKind::Alternation(parts) => sample(&parts[0], random, text),
        }
    }

    /// The group `value` of an expression, otherwise all of it.
    fn value(hir: &Hir) -> Hir {
        let mut pending = vec![hir];
        while let Some(hir) = pending.pop() {
            match hir.kind() {
                HirKind::Capture(capture) if capture.name.as_deref() == Some("value") => {
                    return (*capture.sub).clone();
                }
                HirKind::Capture(capture) => pending.push(&capture.sub),
                HirKind::Repetition(repetition) => pending.push(&repetition.sub),
                HirKind::Concat(parts) | HirKind::Alternation(parts) => pending.extend(parts),
                HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(_) => {}
            }
        }
        hir.clone()
    }

    #[test]
    fn visible_prefix_is_common_to_all_values() {
        let parser = || ParserBuilder::new().unicode(false).utf8(false).build();
        for FormatRow(id, _, visible_prefix, _, pattern) in
            FORMATS.iter().chain(CONTEXT_FORMATS.iter().map(|it| &it.2))
        {
            // A small class of letters belongs to the prefix; a class of ten digits does not.
            let mut extractor = Extractor::new();
            extractor.limit_class(9);
            let prefixes = extractor.extract(&value(&parser().parse(pattern).unwrap()));
            let lengths =
                prefixes.literals().unwrap_or_default().iter().map(|it| it.as_bytes().len());
            assert!(*visible_prefix <= lengths.min().unwrap_or_default(), "{id}: {prefixes:?}");
        }
    }

    #[test]
    fn every_format_matches_its_samples() {
        let parser = || ParserBuilder::new().unicode(false).utf8(false).build();
        let mut failures = Vec::new();
        for FormatRow(id, .., pattern) in FORMATS {
            // The keyword of this format is in the part that the expression leaves open.
            let pattern = pattern.replace("pypi-Ag", "pypi-AgEIcHlwaS5vcmc");
            let mut text = Vec::new();
            sample(&parser().parse(&pattern).unwrap(), &mut RandomNumbers(7), &mut text);
            let mut formats = candidates(&text).filter(|format| format.rule.id == *id);
            if !formats.any(|format| !format.find_matches("src/a.py", &text).is_empty()) {
                failures.push(format!("{id}: {}", String::from_utf8_lossy(&text)));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
