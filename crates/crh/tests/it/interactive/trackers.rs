//! Trackers configured by the environment, and `gh`. Keys are sent to their tracker only.

use std::io::Read;
use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::user::tree;
use crh_testkit::fake_github::{Fault, FaultKind};
use crh_testkit::fake_trackers::{FakeTracker, JIRA_EMAIL, JIRA_TOKEN, LINEAR_KEY, PROJECT};

const REVIEW: [&str; 5] = ["review", "--base", "base", "--strategy", "single"];

/// The token of `gh`.
const GH_TOKEN: &str = "gho_tokenThatOnlyTheProgramKnows0123";
/// A `gh` that is logged in, with the answers of GitHub.
const GH: &str = r#"#!/bin/sh
case "$*" in
"auth token --hostname "*) echo TOKEN ;;
*" --method POST graphql --input -") cat > /dev/null; echo '{"data":{"viewer":{"login":"me","databaseId":7}}}' ;;
*" --method POST repos/acme/shop/issues --input -")
    cat >> "$HOME/filed"; echo >> "$HOME/filed"
    echo '{"html_url":"https://github.example/acme/shop/issues/1"}' ;;
*" repos/acme/shop/issues?"*) echo '[]' ;;
*" repos/acme/shop/labels/P1") echo '{"name":"P1"}' ;;
*" repos/acme/shop/labels/"*) echo 'gh: Not Found (HTTP 404)' >&2; exit 1 ;;
*" repos/acme/shop") echo '{"has_issues":true}' ;;
*) echo "gh: $* (HTTP 400)" >&2; exit 1 ;;
esac
"#;

impl Scene {
    /// Sets the tracker in the user's config.
    fn names_tracker(&self, tracker: &str) {
        self.user.write(".config/crh/config.toml", &format!("[tracker]\n{tracker}\n"));
    }

    /// Files a ticket for every issue and waits for the end.
    fn files_all(&mut self) -> TerminalOutput {
        self.sees("What should the agent do").types("c");
        self.sees("Should the agent do this?").types("1");
        self.terminal.take().unwrap().end()
    }

    /// Searches the output and all files for secrets.
    fn keeps_no_secret(&self, ended: &TerminalOutput, secrets: &[&str]) {
        // The fake `gh` contains its token.
        let home = tree(&self.user.path("")).into_iter();
        let home = home.filter(|(name, _)| !name.starts_with("bin/"));
        let kept: Vec<(String, String)> = home.chain(tree(self.repo.path())).collect();
        for secret in secrets {
            assert!(!ended.raw_output.contains(secret), "{}", ended.raw_output);
            let telling = kept.iter().filter(|(_, text)| text.contains(secret));
            let telling: Vec<&String> = telling.map(|(name, _)| name).collect();
            assert!(telling.is_empty(), "{telling:?}");
        }
    }
}

#[test]
fn jira_is_configured_by_the_environment() {
    let jira = FakeTracker::jira();
    let mut scene = Scene::new(&[gated(), deferred()]);
    scene.names_tracker(&format!("kind = \"jira\"\nproject = \"{PROJECT}\""));
    let program = scene.crh(&REVIEW).env("JIRA_BASE_URL", &jira.url());
    let program = program.env("JIRA_EMAIL", JIRA_EMAIL).env("JIRA_API_TOKEN", JIRA_TOKEN);
    scene.starts(program, USUAL);
    let ended = scene.files_all();
    assert_eq!(ended.code, 1, "{}", ended.full_output);
    assert!(scene.script.contains("(C) File a Jira ticket"), "{}", scene.script);
    assert!(
        ended.full_output.contains(&format!("{}/browse/{PROJECT}-2", jira.url())),
        "{}",
        ended.full_output
    );
    let titles: Vec<String> = jira.tickets().into_iter().map(|ticket| ticket.title).collect();
    assert_eq!(
        titles,
        ["[P0] An unpaid order is refunded", "[P1] The total is divided by the count"]
    );
    assert_eq!(jira.surprises(), [""; 0]);
    let basic = STANDARD.encode(format!("{JIRA_EMAIL}:{JIRA_TOKEN}"));
    scene.keeps_no_secret(&ended, &[JIRA_TOKEN, &basic]);
}

#[test]
fn gh_files_if_the_own_client_cannot() {
    let mut scene = Scene::at_github(&[gated(), deferred()]);
    executable(&scene.user, "bin/gh", &GH.replace("TOKEN", GH_TOKEN));
    let gone = Fault::on("GET", "/api/v3/repos/acme/shop", FaultKind::StatusBefore(404));
    scene.github().fail(gone.times(usize::MAX));
    scene.begins(USUAL);
    let ended = scene.files_all();
    assert_eq!(ended.code, 1, "{}", ended.full_output);
    assert!(
        ended.full_output.contains("https://github.example/acme/shop/issues/1"),
        "{}",
        ended.full_output
    );
    let filed = std::fs::read_to_string(scene.user.path("filed")).unwrap();
    let filed: Vec<Value> = filed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<(&Value, &Value)> =
        filed.iter().map(|ticket| (&ticket["title"], &ticket["labels"])).collect();
    assert_eq!(
        shown,
        [
            (&json!("[P0] An unpaid order is refunded"), &Value::Null),
            (&json!("[P1] The total is divided by the count"), &json!(["P1"])),
        ]
    );
    assert_eq!(scene.github().issues(NAME).len(), 0);
    scene.keeps_no_secret(&ended, &[GH_TOKEN]);
}

#[test]
fn linear_key_is_sent_encrypted_and_requirements_are_named() {
    // Records the first line of outgoing traffic, which must not contain a key.
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = proxy.accept().unwrap();
        let mut bytes = [0; 4_096];
        let count = stream.read(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    });
    let mut scene = Scene::new(&[deferred()]);
    scene.names_tracker("kind = \"linear\"");
    let key = |program: Program| program.env("LINEAR_API_KEY", LINEAR_KEY);
    scene.starts(scene.crh(&REVIEW), USUAL);
    scene.sees("Linear needs `LINEAR_API_KEY`").types("\x03");
    scene.terminal.take().unwrap().end();
    let again = ["review", "--resume", "latest"];
    scene.starts(key(scene.crh(&again)), USUAL);
    scene.sees("Linear needs `tracker.team`").types("\x03");
    let ended = scene.terminal.take().unwrap().end();
    scene.keeps_no_secret(&ended, &[LINEAR_KEY]);
    scene.names_tracker(&format!("kind = \"linear\"\nteam = \"{PROJECT}\""));
    scene.starts(key(scene.crh(&again)).env("HTTPS_PROXY", &address), USUAL);
    scene.sees("Linear").types("d");
    let ended = scene.terminal.take().unwrap().end();
    assert!(ended.full_output.contains("reach Linear"), "{}", ended.full_output);
    let heard = heard.join().unwrap();
    assert!(heard.starts_with("CONNECT api.linear.app:443 "), "{heard}");
    assert!(!heard.contains(LINEAR_KEY), "{heard}");
    scene.keeps_no_secret(&ended, &[LINEAR_KEY]);
}
