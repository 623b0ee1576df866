//! Credentials of every kind, and lookalikes.
//!
//! A `~` in a sample is removed before the check, so that this file contains no credential itself.

use expect_test::expect;

use super::*;
use crate::testing::Fixture;

mod recall;

fn file(path: &str, text: &str) -> ChangedFile {
    let added = (1..).zip(text.split('\n'));
    let added = added.map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() });
    ChangedFile { path: path.to_owned(), added: added.collect(), ..ChangedFile::default() }
}

/// Findings in a text, as `severity what: masked line`.
fn findings(path: &str, text: &str) -> Vec<String> {
    let findings = review(&[file(path, &text.replace('~', ""))], None).findings;
    let lines = findings.iter().map(|StaticFinding { finding, .. }| {
        let description = finding.title.trim_end_matches(" in the code");
        format!("{} {description}: {}", finding.severity, finding.evidence[0].snippet)
    });
    lines.collect()
}

#[rustfmt::skip]
const CREDENTIALS: &[(&str, &str, &str)] = &[
    ("src/a.py", r#"KEY = "AKIA~UJZDEGXDNCF32EPF""#, r#"P0 AWS access key: KEY = "AKIA****""#),
    ("deploy.tf", r#"aws_secret_access_key = "2hpChYgCfrL1spNxnyVmihA+2O76UMFxFkM+R5Kj""#, r#"P0 AWS secret key: aws_secret_access_key = "****""#),
    ("src/a.js", r#"const t = 'ghp~_hGAkWvj7FAc9QeWJKY40uvSwMFLZDe1f8rES';"#, r#"P0 GitHub token: const t = 'ghp_****';"#),
    ("src/a.js", r#"const t = 'github_pat~_QedUStPKR0CsTy4Qwb8Dwk_NhFdnXsiVpzz63FfkCzJr4i0B3JrTAwR4y9ojfljoQoaF1LlqsajAIxNKu8';"#, r#"P0 GitHub token: const t = 'github_pat_****';"#),
    ("a.yml", r#"token: glpat~-qg6YYZYn9ZhyiA4uoRgn"#, r#"P0 GitLab token: token: glpat****"#),
    ("a.rb", r#"xoxb~-092815901396-245957117777-tfjgVvVqE1SkHbn88HxjSI6b"#, r#"P0 Slack token: xoxb-****"#),
    ("a.rb", r#"url = 'https://hooks.slack.com/~services/TTFQXKWOV/BOMPZOM7W/UbbYrEqmSM9wCZ7Uw9xfogoE'"#, r#"P0 Slack webhook: url = 'https://hooks.slack.com/services/T****'"#),
    ("pay.go", r#"stripe.Key = "sk_live~_mvnEN5N1aE6PwZPf1Qh6yYTW""#, r#"P0 Stripe key: stripe.Key = "sk_live_****""#),
    ("index.html", r#"src="https://maps.example.com/?key=AIza~z9w3QlY7Zkuvqdt7s8Stqcbnr3yBdGBLEPH""#, r#"P0 Google API key: src="https://maps.example.com/?key=AIza****""#),
    ("a.env", r#"OPENAI_API_KEY=sk-proj~-1qhT61qtc4xatws8phP9nhFyJfm5di4PzJ59FHz5r1pY4OjE"#, r#"P0 OpenAI key: OPENAI_API_KEY=sk-proj-****"#),
    ("a.env", r#"OPENAI_API_KEY=sk-BenQtYh5Xj8TPQxjq4i9T3Blbk~FJDoV8gz4FkQ1okTBGzvAm"#, r#"P0 OpenAI key: OPENAI_API_KEY=sk-****"#),
    ("a.env", r#"ANTHROPIC_API_KEY=sk-ant~-api03-TOlUcR64cXQLioDnkHIfxIq2HZt-PlJhx2jIclHkCiHp6bR1IqfEouHgxzNNAL5wIScGebcy8F5n3-YNBDRzrZSgqbjG3"#, r#"P0 Anthropic key: ANTHROPIC_API_KEY=sk-ant-****"#),
    (".npmrc", r#"//registry.npmjs.org/:_authToken=npm~_kdfQ1y3GQsMpSscDlkrCaqx9vJupc94tnwla"#, r#"P0 npm token: //registry.npmjs.org/:_authToken=npm_****"#),
    (".pypirc", r#"password = pypi-AgEIcHlwaS5v~cmcQWk8JzFalHlsZfYcMMDktXP-tKsf2rcDkdfrUnW5gcF_Ha6ili8GjHEAD6-Wj9KfzjsQGM"#, r#"P0 PyPI token: password = pypi-****"#),
    ("a.cs", r#""AccountKey=rb9h+ImB+LK777pzNk8cL6j5IXAAjlsHUqJoUD/+Ydua+5ZMs1SWOpQaPRYpzbLGViYXjU2JgJngKtFI3OyV2d==;EndpointSuffix=core""#, r#"P0 Azure storage key: "AccountKey=****;EndpointSuffix=core""#),
    ("a.py", r#""S~Kc621de49f145fda9988c79fc35526f7e""#, r#"P0 Twilio key: "SK****""#),
    ("a.py", r#"sg = "S~G.Q52ryFlwRlOEVHzc0X0AWI.Rh-JUqBlIFXZ53Ncqe28_ajY75FnCttn6kfaqDeMqG3""#, r#"P0 SendGrid key: sg = "SG.****""#),
    ("a.py", r#"bot("222594754:A~AabM6JOF8EFd0Nhcy-1kGD2VD-eR1UYzaL")"#, r#"P0 Telegram bot token: bot("****")"#),
    ("config/prod.rb", r#"url = "postgres://app:V2GenFmtX0moDo!9@db.prod.acme.io:5432/app""#, r#"P0 Database password: url = "postgres://app:****@db.prod.acme.io:5432/app""#),
    ("a.sh", r#"git clone https://bot:qW4sg8NFNl5oFA6Qd8Mj@git.acme.io/x.git"#, r#"P1 Password in an address: git clone https://bot:****@git.acme.io/x.git"#),
    ("src/a.py", r#"API_KEY = "c1604d115cea325a65e19cbae530282b""#, r#"P1 Password or key: API_KEY = "****""#),
    ("src/a.ts", r#"  clientSecret: "A94hJ9WnywX0t0ZBfdTEmxI6Cmux","#, r#"P1 Password or key: clientSecret: "****","#),
    ("src/Conn.java", r#"private static final String DB_PASSWORD = "Kx7!vQ2m#L";"#, r#"P1 Password or key: private static final String DB_PASSWORD = "****";"#),
    (".env.production", r#"SESSION_SECRET=V5EbOApZOXzcycDeZ6dqmVe5Mvxrv99NcqVTSu7r"#, r#"P1 Password or key: SESSION_SECRET=****"#),
    ("helm/values.yaml", r#"  password: taUWM6ZO88eb0ogET9D9"#, r#"P1 Password or key: password: ****"#),
    ("src/a.go", r#"jwt := "eyJhbGciOiJIUzI1NiJ9.~eyJzdWIiOiJ1LTg4MjEzIiwicm9sZSI6ImFkbWluIiwiaWF0IjoxNzEyMzQ1Njc4fQ.XG3-q-xbMtEPO6UkzYuF0ie9Pu2njHkAm1-5wDr16Ep""#, r#"P1 Signed token (JWT): jwt := "eyJ****""#),
    ("src/a.py", r#"T = "dckr_pat~_9wLs2ZpXw9LmN4vB8sTc1YdHf6J""#, r#"P0 Docker Hub token: T = "dckr_pat_****""#),
    ("src/a.py", r#"T = "gsk~_9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw9LmN4vB8sTc1YdHf""#, r#"P0 Groq key: T = "gsk_****""#),
    ("src/a.py", r#"T = "r8~_9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw9""#, r#"P0 Replicate token: T = "r8_****""#),
    ("src/a.py", r#"T = "pplx~-9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw9LmN4vB8sTc1""#, r#"P0 Perplexity key: T = "pplx-****""#),
    ("src/a.py", r#"T = "ATATT3~xFfGF0T4JVjdmA1Nj9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw9LmN4vB8sTc1YdHf6J=A1B2C3D4""#, r#"P0 Atlassian token: T = "ATATT3****""#),
    ("src/a.py", r#"T = "dp.pt~.9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw9LmN4vB""#, r#"P0 Doppler token: T = "dp.pt.****""#),
    ("src/a.py", r#"T = "figd~_9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw9LmN""#, r#"P0 Figma token: T = "figd_****""#),
    ("src/a.py", r#"T = "nfp~_9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw""#, r#"P0 Netlify token: T = "nfp_****""#),
    ("src/a.py", r#"T = "pul~-9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b""#, r#"P0 Pulumi token: T = "pul-****""#),
    ("src/a.py", r#"T = "tskey~-auth-k9wLs2ZpXw-LmN4vB8sTc1YdHf6J9wLs2Zp""#, r#"P0 Tailscale key: T = "tskey-****""#),
    ("src/a.py", r#"T = "sk~-9wLs2ZpXw9LmN4vB8sTc1YdHf6J9wLs2ZpXw9LmN4vB8sTc1""#, r#"P0 OpenAI key: T = "sk-****""#),
    ("src/sampler.py", r#"SESSION_TOKEN = "9f86d081884c7d659a2feaa0c55ad015""#, r#"P1 Password or key: SESSION_TOKEN = "****""#),
    ("src/a.py", r#"KEY = "AKIA~GIKQYZ77IKIGE7YK""#, r#"P0 AWS access key: KEY = "AKIA****""#),
    ("tests/test_a.py", r#"KEY = "AKIA~UJZDEGXDNCF32EPF""#, r#"P1 AWS access key: KEY = "AKIA****""#),
    ("a.sh", r#"git clone https://bot:SuperSecret8123@git.acme.io/x.git"#, r#"P1 Password in an address: git clone https://bot:****@git.acme.io/x.git"#),
];

#[test]
fn valid_checksum_is_reported_in_every_file() {
    let right = ["npm_", "R7kq2ZpXw9LmN4vB8sTc1YdHf6JgAe", "SUMSUM"].concat();
    assert_eq!(findings("tests/a.js", &format!("t = '{right}'")), [""; 0]);
    assert_eq!(findings("src/a.js", &format!("t = '{right}'")), ["P0 npm token: t = 'npm_****'"]);
    let right = right.replace("SUMSUM", "45MWBx");
    for path in ["tests/a.js", "docs/a.md", "src/a.js"] {
        assert_eq!(findings(path, &format!("t = '{right}'")), ["P0 npm token: t = 'npm_****'"]);
    }
}

#[test]
fn credentials_are_found_and_masked() {
    for (path, line, expected) in CREDENTIALS {
        assert_eq!(findings(path, line), [*expected], "{line}");
    }
}

#[rustfmt::skip]
const NONE: &[(&str, &str)] = &[
    ("src/a.py", r#"KEY = "AKIA~IOSFODNN7EXAMPLE""#),
    ("src/a.py", r#"aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY~EXAMPLEKEY""#),
    ("src/a.py", r#"t = "ghp~_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx""#),
    ("src/a.py", r#"t = "ghp~_0123456789abcdefghijklmnopqrstuvwxyz""#),
    ("src/a.py", r#"t = "ghp~_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa""#),
    ("src/a.py", r#"t = "sk_live~_your_key_here_your_key_here""#),
    ("src/a.py", r#"t = "sk_test~_4eC39HqLyjWDarjtT1zdp7dc""#),
    ("src/a.py", r#"t = "xoxb~-123456789012-1234567890123-abcdefghijklmnopqrstuvwx""#),
    ("src/a.py", r#"api_key = os.environ["API_KEY"]"#),
    ("src/a.py", r#"api_key = os.getenv("PROD_API_KEY_V2_2024")"#),
    ("src/a.py", r#"password = getpass("Password: ")"#),
    ("src/a.py", r#"password = "changeme""#),
    ("src/a.py", r#"password = "correct horse battery staple""#),
    ("src/a.py", r#"PASSWORD_FIELD = "new_password1""#),
    ("src/a.py", r#"SECRET_KEY = config("DJANGO_SECRET_KEY_2")"#),
    ("src/a.py", r#"SECRET_KEY = "django-insecure-example""#),
    ("src/a.py", r#"token_url = "https://auth.acme.io/oauth2/v2.0/token""#),
    ("src/a.py", r#"csrf_token = "kD83jf93kfP2kd93jdk2Fk39""#),
    ("src/a.py", r#"token = "csrfmiddlewaretoken""#),
    ("src/a.py", r#"TOKEN_TYPE = "urn:ietf:params:oauth:token-type:jwt2""#),
    ("src/a.py", r#"password_hash = "5f4dcc3b5aa765d61d8327deb882cf99""#),
    ("src/a.py", r#"assert token == "3b5d5c3712955042212316173ccf37be"  # sha256 of x"#),
    ("src/a.ts", r#"const apiKey = process.env.API_KEY_2;"#),
    ("src/a.ts", r#"const secret = `${prefix}-${id}-93kfk39fk3`;"#),
    ("src/a.ts", r#"const token = "{{ secrets.DEPLOY_TOKEN_2 }}";"#),
    ("src/a.ts", r#"placeholder="Enter your password 12345""#),
    ("src/a.ts", r#"<input type="password" name="userPassword123" />"#),
    ("src/a.ts", r#"password: "form.password.label_2","#),
    ("src/a.rs", r#"let token = "next-page-token-v2";"#),
    ("src/a.rs", r#"const PRIVATE_KEY_HEADER: &str = "-----BEGIN ~PRIVATE KEY-----";"#),
    ("src/a.go", r#"apiKey := flag.String("api-key", "", "the key")"#),
    ("src/a.go", r#"secretName := "tls-cert-2024-prod-eu""#),
    ("src/a.java", r#"@Value("${app.secret.key2}") String secretKey;"#),
    ("tests/test_a.py", r#"API_KEY = "9f86d081884c7d659a2feaa0c55ad015""#),
    ("tests/conftest.py", r#"password = "Kx7!vQ2m#L""#),
    ("docs/setup.md", r#"export API_TOKEN="9f86d081884c7d659a2feaa0c55ad015""#),
    ("README.md", r#"DATABASE_URL=postgres://app:k3j4h5k3j4@db.acme.io/app"#),
    (".env.example", r#"SESSION_SECRET=9f86d081884c7d659a2feaa0c55ad015"#),
    ("docker-compose.yml", r#"DATABASE_URL: postgres://postgres:postgres@db:5432/app"#),
    ("docker-compose.yml", r#"DATABASE_URL: postgres://app:kd93kd93@localhost:5432/app"#),
    ("docker-compose.yml", r#"POSTGRES_PASSWORD: ${POSTGRES_PASSWORD}"#),
    ("config/a.yml", r#"url: mysql://user:password@db.acme.io/app"#),
    ("config/a.yml", r#"url: postgres://user:%(password)s@db.acme.io/app"#),
    ("config/a.yml", r#"password: !vault production-db-2"#),
    ("config/a.yml", r#"secret: arn:aws:secretsmanager:eu-west-1:1234:secret:x-9kF3"#),
    ("package-lock.json", r#""integrity": "sha512-AKIA~QX3NVLPD7WZM2K5T9f86d081884c7d659a2feaa0c55ad015""#),
    ("Cargo.lock", r#"checksum = "9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d65""#),
    ("src/a.py", r#"jwt = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.~eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c""#),
    ("src/azurite.cs", r#"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"#),
    ("src/a.py", r#"email = "https://user:pass@example.com/""#),
    ("docs/a.md", r#"t = "ghp~_hGAkWvj7FAc9QeWJKY40uvSwMFLZDe1f8rES""#),
    ("a.sh", r#"git clone https://bot:mypassword12@git.acme.io/x.git"#),
    ("a.sh", r#"git clone https://bot:$TOKEN_OF_BOT@git.acme.io/x.git"#),
    ("src/a.ts", r#"  accessToken: OAuth2AccessTokenResponse"#),
    ("src/a.py", r#"token = oauth2_access_token_v1"#),
    ("src/a.rb", r#"  token = oauth2_access_token_v1"#),
    ("src/a.rs", r#"    access_token: OAuth2AccessTokenV1"#),
    ("src/a.kt", r#"  token = oauth2AccessTokenV1"#),
    ("src/a.swift", r#"  token = oauth2AccessTokenV1"#),
    ("src/a.vue", r#"  accessToken: OAuth2AccessTokenResponse"#),
    ("schema.graphql", r#"  token: OAuth2AccessTokenV1"#),
    ("src/a.py", r#"keyboard_layout = "qwertz-2024-de-nodeadkeys""#),
];

#[test]
fn placeholders_references_and_hashes_are_not_reported() {
    let mut failures = Vec::new();
    for (path, line) in NONE {
        let findings = findings(path, line);
        if !findings.is_empty() {
            failures.push(format!("{path}: {line} -> {findings:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn token() -> String {
    ["ghp_", "R7kq2ZpXw9LmN4vB8sTc1YdHf6JgAe3UoQi5"].concat()
}

const ROWS_OF_KEY: [&str; 2] = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
];

fn pem() -> String {
    let [one, two] = ROWS_OF_KEY;
    format!("-----BEGIN {}KEY-----\n{one}\n{two}\n-----END {}KEY-----", "PRIVATE ", "PRIVATE ")
}

#[test]
fn private_key_needs_rows_after_its_header() {
    let heading = "-----BEGIN PRIVATE KEY-----";
    assert_eq!(findings("deploy/a.pem", &pem()), [format!("P0 Private key: {heading}")]);
    assert_eq!(findings("deploy/key.txt", &pem()), [format!("P0 Private key: {heading}")]);
    for path in ["tests/a.pem", "README.md", "docs/keys.txt"] {
        assert_eq!(findings(path, &pem()), [""; 0], "{path}");
    }
    let one_line = format!("\"key\": \"{}\"", pem().replace('\n', "\\n"));
    assert_eq!(
        findings("a.json", &one_line),
        [format!("P0 Private key: \"key\": \"{heading}****")]
    );
    let no_key = format!("{heading}\n...\n-----END PRIVATE KEY-----");
    assert_eq!(findings("a.pem", &no_key), Vec::<String>::new());
    let drawing = format!("{heading}\n{}\n", "AAAA".repeat(16));
    assert_eq!(findings("a.pem", &drawing), Vec::<String>::new());
    let after_drawing = format!("{drawing}{}", ROWS_OF_KEY.join("\n"));
    assert_eq!(findings("a.pem", &after_drawing), [format!("P0 Private key: {heading}")]);
}

#[test]
fn line_far_below_a_header_is_no_row_of_its_key() {
    let lines = |second| {
        let texts = ["const HEADER: &str = \"-----BEGIN PRIVATE KEY-----\";", ROWS_OF_KEY[0]];
        let lines = [1, second].into_iter().zip(texts);
        let added = lines.map(|(number, text)| AddedLine { number, text: text.into() }).collect();
        let file = ChangedFile { path: "src/a.rs".to_owned(), added, ..ChangedFile::default() };
        review(&[file], None).findings.len()
    };
    assert_eq!((lines(3), lines(200)), (1, 0));
}

#[test]
fn values_are_complete_and_sorted() {
    let token = token();
    let line = format!("a = '{token}'; b = '{token}'");
    let files = [file("a.js", &line), file("a.pem", &pem())];
    let mut expected = vec![token];
    expected.extend(ROWS_OF_KEY.map(str::to_owned));
    expected.sort();
    assert_eq!(values(&files), expected);
}

#[test]
fn key_rows_without_header_are_masked_not_reported() {
    let [one, two] = ROWS_OF_KEY;
    let last = "Qm4x9TzLr7Vb2KsW8nYcDg==";
    let end = format!("-----END RSA {}KEY-----", "PRIVATE ");
    let quoted = format!("  \"{one}\\n\" +\n  \"{last}\\n\" +\n  \"{end}\";");
    let rows: &[(&str, String, &[&str])] = &[
        ("key.py", format!("{one}\n{two}\n{last}\n{end}\n\"\"\"\nx = 2"), &[one, two, last]),
        ("Key.java", quoted, &[one, last]),
        ("key.asc", format!("{one}\n=a1B2\n-----END PGP {}KEY BLOCK-----", "PRIVATE "), &[one]),
        ("key.pem", format!("{one}\n{two}\n{one}"), &[one, two]),
        ("tests/key.py", format!("{one}\n{two}\n{end}"), &[]),
        ("cert.pem", format!("{one}\n-----END CERTIFICATE-----"), &[]),
        ("key.py", format!("{one}\nx = 1\n{end}"), &[]),
        ("sums.txt", format!("{}\n", "0123456789abcdef".repeat(4)).repeat(4), &[]),
        ("words.txt", "interoperability\n".repeat(4), &[]),
    ];
    for (path, text, expected) in rows {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(values(&[file(path, text)]), expected, "{text}");
        assert_eq!(findings(path, text), [""; 0], "{text}");
    }
}

#[test]
fn key_rows_below_an_unchanged_header_are_reported() {
    let [one, two] = ROWS_OF_KEY;
    let header = format!("-----BEGIN RSA {}KEY-----", "PRIVATE ");
    let end = format!("-----END RSA {}KEY-----", "PRIVATE ");
    let old_rows = format!("{two}\n").repeat(30);
    for (base, head, line) in [
        (format!("{header}\n{end}\n"), format!("{header}\n{one}\n{two}\n{end}\n"), Some(2)),
        (
            format!("{header}\nX: y\n\n{old_rows}{two}\n{end}\n"),
            format!("{header}\nX: y\n\n{old_rows}{one}\n{end}\n"),
            Some(34),
        ),
        (format!("{header}\n{end}\n"), format!("{header}\n{end}\n{one}\n"), None),
        ("x\n".to_owned(), format!("x\n{one}\n"), None),
    ] {
        let fixture = Fixture::new(&format!("//- a.py\n{base}//- head\n//- a.py\n{head}"));
        let output = fixture.with(|change| review(change.files, change.project));
        let lines = output.findings.iter().map(|it| it.finding.line_start.unwrap().get());
        assert_eq!(lines.collect::<Vec<_>>(), line.into_iter().collect::<Vec<_>>(), "{head}");
        // A diff without a repository shows some of the lines above.
        let mut file = fixture.with(|change| change.files[0].clone());
        let lines = (1..).zip(head.lines());
        let lines = lines.map(|(number, line)| AddedLine { number, text: line.into() });
        file.unchanged = lines.filter(|line| !file.adds(line.number)).collect();
        assert_eq!(review(&[file], None).findings.len(), output.findings.len(), "{head}");
    }
}

#[test]
fn all_credentials_of_a_line_are_masked_in_each_finding() {
    let (one, two) = (token(), format!("AKIA{}", "QX3NVLPD7WZM2K5T"));
    let findings = findings("a.js", &format!("f('{one}', '{two}')"));
    assert_eq!(
        findings,
        [
            "P0 GitHub token: f('ghp_****', 'AKIA****')",
            "P0 AWS access key: f('ghp_****', 'AKIA****')"
        ]
    );
}

#[test]
fn long_line_is_cut_around_the_match() {
    let token = token();
    let one = format!("{}{token};", "x".repeat(500) + " ");
    let x = "x".repeat(79);
    assert_eq!(
        findings("a.js", &one.repeat(2)),
        [format!("P0 GitHub token: {x} ghp_****;{x}"), format!("P0 GitHub token: {x} ghp_****;")]
    );
    let close = format!("{token} {token} {}", "y".repeat(200));
    let findings = findings("a.js", &close);
    assert!(
        findings.iter().all(|line| line.starts_with("P0 GitHub token: ghp_**** ghp_**** y")),
        "{findings:?}"
    );
}

#[test]
fn overlapping_matches_are_masked_completely() {
    let token = token();
    let line = format!("api_key = '{token}/kD83jf93kfP2'");
    assert_eq!(findings("a.py", &line), ["P0 GitHub token: api_key = 'ghp_****'"]);
    let line = format!("api_key = 'kD83jf93kfP2/{token}'");
    assert_eq!(findings("a.py", &line), ["P0 GitHub token: api_key = '****'"]);
}

#[test]
fn moved_credential_is_pre_existing() {
    let token = token();
    let line = format!("t = '{token}'");
    let moved =
        ChangedFile { removed: vec![format!("  {line}").into_bytes()], ..file("b.py", "x") };
    assert!(review(&[file("a.py", &line), moved], None).findings[0].finding.pre_existing);
    assert!(!review(&[file("a.py", &line)], None).findings[0].finding.pre_existing);
    for sample in ["tests/fixtures/key.py", "examples/b.py", "docs/b.py", "README.md"] {
        let moved = ChangedFile { removed: vec![line.clone().into_bytes()], ..file(sample, "x") };
        let findings = review(&[file("a.py", &line), moved], None).findings;
        assert!(!findings[0].finding.pre_existing, "{sample}");
    }
}

#[test]
fn credentials_over_the_limit_are_counted() {
    let line = format!("t = '{}'\n", token());
    let output = review(&[file("a.py", &line.repeat(FINDINGS_MAX + 20))], None);
    assert_eq!(output.findings.len(), FINDINGS_MAX);
    assert_eq!(output.notes, ["20 more credentials are not listed"]);
}

#[test]
fn excluded_files_report_only_unambiguous_formats() {
    let hex = "3f8a0c1d9b7e4f2a6d5c8b1e0f9a7c3d";
    let letters = "R7kq2ZpXw9LmN4vB8sTc1YdHf6JgAe3UoQi5";
    let loose = [
        format!("'key-{hex}'"),
        format!("'SK{hex}'"),
        format!("'{hex}-us1'"),
        format!("'cio{}'", &letters[..32]),
        format!("token: 'M{}.{}.{}'", &letters[..24], &letters[..6], &letters[..27]),
        format!("'EAAA{}'", &letters.repeat(2)[..60]),
        format!("'EAAC{}'", letters.repeat(3)),
    ];
    for line in loose {
        assert_eq!(findings("src/x.js", &line).len(), 1, "{line}");
        assert_eq!(
            review_excluded(&[file("vendor/x.js", &line)], None),
            StaticOutput::default(),
            "{line}"
        );
    }
    for line in [format!("t = '{}'", token()), pem()] {
        assert_eq!(
            review_excluded(&[file("vendor/x.js", &line)], None).findings.len(),
            1,
            "{line}"
        );
    }
}

#[test]
fn finding_has_a_fix() {
    let line = format!("t = '{}'", token());
    expect![[r#"[StaticFinding { rule: "secrets/github-token", finding: Finding { title: "GitHub token in the code", severity: P0, category: Security, file: "src/a.py", line_start: Some(1), line_end: None, side: None, diff_line: None, confidence: Confidence(800), evidence: [Evidence { file: None, line: Some(1), side: None, snippet: "t = 'ghp_****'" }], why_it_matters: "Everybody who can read this branch, its history or a build of it can use the credential. Removing the line later does not undo the leak.", suggested_fix: Some("Revoke the credential now: each reader of the branch knows it. Then take it out of the change and out of the branch's history, and read it from the environment or a secret store."), replacement: None, autofix_class: Manual, owner: Human, requires_verification: false, pre_existing: false } }]"#]].assert_eq(&format!("{:?}", review(&[file("src/a.py", &line)], None).findings));
}

#[test]
fn truncated_hostile_line_does_not_panic() {
    let key = pem().replace('\n', "\\n");
    let line =
        format!("é password='{}' {key} postgres://a:b{}@c.d.io eyJé.eyJ.", token(), "é".repeat(9));
    let bytes = line.as_bytes();
    for from in 0..bytes.len() {
        for to in [from, from + 9, from + 60, bytes.len()] {
            let text = bytes[from..to.min(bytes.len())].to_vec();
            let added = vec![AddedLine { number: 1, text }];
            let path = "a".to_owned();
            let files = [ChangedFile { path, added, ..ChangedFile::default() }];
            assert!(review(&files, None).findings.len() <= values(&files).len());
        }
    }
}
