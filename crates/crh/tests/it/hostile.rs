//! A hostile change that tries to make linters run its code. Nothing outside of the sandbox may be
//! changed or contacted.
//!
//! The linters are scripts that report what they could do. Without kernel support for the sandbox,
//! they must not run.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::user::{User, tree};
use crh_testkit::{Program, Repo, skip_test};

/// What a script can do without a sandbox.
const UNSANDBOXED: &str = "read own streams canary home checkout env write create chmod time connect session stream datagram pair abstract udp watch";
/// Also possible if the file system supports file flags.
const FLAGS: &str = " flags";
/// What a script can do in the sandbox: read its input, write to its own folder, talk to its
/// children.
const SANDBOXED: &str = "read own streams";

/// Tries everything and collects the successes in `could`. `read` is an input file, `own` the
/// script's own folder.
const ATTEMPTS: &str = r#"
could=""
try() { word=$1; shift; ( "$@" ) >/dev/null 2>&1 && could="$could $word"; }
append() { echo x >> "$1"; }
connect() { bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT && echo hello >&3'; }
session() { setsid true; }
leaks() { env | grep -q SECRET || grep -q SECRET /proc/*/environ; }
speak() { perl -MSocket -e "\$p = sockaddr_un(shift); $1" "$2"; }
stream() { speak 'socket($s, AF_UNIX, SOCK_STREAM, 0) && connect($s, $p) || exit 1' "$1"; }
datagram() { speak 'socket($s, AF_UNIX, SOCK_DGRAM, 0) && send($s, "x", 0, $p) || exit 1' "$1"; }
pair() { speak 'socketpair($s, $o, AF_UNIX, SOCK_DGRAM, 0) && send($s, "x", 0, $p) || exit 1' "$1"; }
abstract() { speak 'socket($s, AF_UNIX, SOCK_DGRAM, 0) && bind($s, "\1\0\0x$$") || exit 1' x; }
udp() { speak 'socket($s, AF_INET, SOCK_DGRAM, 0) && send($s, "x", 0, sockaddr_in(UDP, INADDR_LOOPBACK)) || exit 1' x; }
streams() { speak 'socketpair($s, $o, AF_UNIX, SOCK_STREAM, 0) && send($s, "x", 0) || exit 1' x; }
watch() { perl -e 'exit(syscall(`uname -m` =~ /x86_64/ ? 294 : 26, 0) < 0)'; }
flags() { perl -e 'open $f, "<", shift; ioctl($f, 0x80086601, $g = "\0" x 8) && ioctl($f, 0x40086602, $g) || exit 1' "$1"; }
try read cat "$1"
try own append "$HOME/own"
try streams streams
try canary cat "OUTSIDE/canary"
try home ls "USER"
try checkout cat "CHECKOUT/private.txt"
try env leaks
try write append "OUTSIDE/canary"
try create append "OUTSIDE/created"
try chmod chmod 777 "OUTSIDE/canary"
try time touch -d 2001-01-01 "OUTSIDE/canary"
try connect connect
try session session
try stream stream "SOCKETS/stream"
try datagram datagram "SOCKETS/datagram"
try pair pair "SOCKETS/datagram"
try abstract abstract
try udp udp
try watch watch
try flags flags "$0"
could="${could# }"
"#;

/// How each linter prints its version and its findings.
const TOOLS: [(&str, &str); 2] = [
    (
        "ruff",
        r#"for file; do :; done; PRELUDE
printf '[{"code": "F821", "message": "could: %s", "filename": "%s", "location": {"row": 1}}]' "$could" "$file""#,
    ),
    (
        "eslint",
        r#"for file; do :; done; PRELUDE
printf '[{"filePath": "%s", "messages": [{"ruleId": "no-dupe-keys", "severity": 2, "message": "could: %s", "line": 1}]}]' "$file" "$could""#,
    ),
];

/// A user, a repository with a hostile change, and a folder outside of it.
struct HostileFixture {
    user: User,
    repo: Repo,
    outside: tempfile::TempDir,
    listener: TcpListener,
    udp: UdpSocket,
    sockets: tempfile::TempDir,
    stream: UnixListener,
    datagram: UnixDatagram,
}

impl HostileFixture {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let sockets = tempfile::tempdir().unwrap();
        let stream = UnixListener::bind(sockets.path().join("stream")).unwrap();
        stream.set_nonblocking(true).unwrap();
        let datagram = UnixDatagram::bind(sockets.path().join("datagram")).unwrap();
        datagram.set_nonblocking(true).unwrap();
        let outside = tempfile::tempdir().unwrap();
        let (user, repo) = (User::new(), Repo::new());
        let scene = Self { user, repo, outside, listener, udp, sockets, stream, datagram };
        scene.reset();
        scene.user.write("tools/.keep", "");
        for (name, body) in TOOLS {
            scene.script(&scene.user.path("tools").join(name), body);
        }
        scene
    }

    /// Resets the folder outside.
    fn reset(&self) {
        fs::remove_file(self.outside.path().join("created")).unwrap_or_default();
        fs::write(self.outside.path().join("canary"), "canary").unwrap();
        let mode = fs::Permissions::from_mode(0o644);
        fs::set_permissions(self.outside.path().join("canary"), mode).unwrap();
    }

    fn script(&self, file: &Path, body: &str) {
        let prelude = ATTEMPTS
            .replace("UDP", &self.udp.local_addr().unwrap().port().to_string())
            .replace("SOCKETS", self.sockets.path().to_str().unwrap())
            .replace("PORT", &self.listener.local_addr().unwrap().port().to_string())
            .replace("OUTSIDE", self.outside.path().to_str().unwrap())
            .replace("CHECKOUT", self.repo.path().to_str().unwrap())
            .replace("USER", self.user.path("").to_str().unwrap())
            .replace("\"$1\"\ntry own", "\"$file\"\ntry own");
        let script = format!("#!/bin/sh\n{}", body.replace("PRELUDE", &prelude));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, script).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Commits a change with every kind of linter configuration.
    fn hostile_change(&self) {
        let (repo, outside) = (&self.repo, self.outside.path().to_str().unwrap());
        let mark = format!("echo ran > {outside}/created");
        repo.write("a.py", "x = 1\n");
        repo.write("a.js", "export const x = 1;\n");
        repo.write("private.txt", "private\n");
        repo.commit("base");
        repo.git(&["branch", "start"]);
        // Git filters and diff drivers of the user must not run because a change asks for them.
        for key in
            ["filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.evil.command"]
        {
            repo.git(&["config", key, &format!("sh -c '{mark}; cat'")]);
        }
        repo.write(".gitattributes", "* filter=evil diff=evil\n");
        repo.write("a.py", "undefined_name\n");
        repo.write("a.js", "const x = { a: 1, a: 2 };\n");
        repo.write("ruff.toml", "extend = \"/etc/passwd\"\n[lint]\nselect = [\"ALL\"]\n");
        let config =
            format!("require('child_process').execSync({mark:?});\nmodule.exports = [];\n");
        repo.write("eslint.config.js", config);
        repo.write(".eslintrc.js", "require('./eslint.config.js')\n");
        repo.write(".npmrc", "node-options=--require ./eslint.config.js\n");
        repo.write("package.json", format!("{{\"scripts\": {{\"preinstall\": {mark:?}}}}}\n"));
        symlink(self.outside.path().join("canary"), repo.path().join("link.py")).unwrap();
        repo.git(&["-c", "filter.evil.clean=cat", "-c", "filter.evil.smudge=cat", "add", "-A"]);
        repo.git(&["commit", "-q", "--no-verify", "-m", "change"]);
        let pipe = repo.path().join("pipe.py");
        assert_eq!(Program::new("mkfifo", repo.path()).args([pipe]).run().code, 0);
    }

    /// Issue titles and warnings of `crh check` with these flags.
    fn checked(&self, flags: &[&str]) -> (Vec<String>, Vec<String>) {
        let path = std::env::join_paths(
            [self.user.path("tools"), PathBuf::from("/usr/bin"), PathBuf::from("/bin")].iter(),
        );
        let target = ["check", "--base", "start", "--format", "json"];
        let args = [&target, flags].concat();
        let program = self.user.crh(self.repo.path(), &args);
        let program = program.env("PATH", path.unwrap().to_str().unwrap()).env("SECRET", "SECRET");
        let output = program.env("CRH_ANALYSERS", "auto").run();
        let report: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|why| panic!("{why}: {}", output.shown()));
        let texts = |value: &Value, field: Option<&str>| {
            let texts = value.as_array().into_iter().flatten();
            let text = |it: &Value| field.map_or(it.clone(), |field| it[field].clone());
            texts.map(|it| text(it).as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let mut titles = texts(&report["issues"], Some("title"));
        titles.retain(|title| title.starts_with("could"));
        (titles, texts(&report["warnings"], None))
    }

    /// Which listeners were contacted: TCP, UDP, Unix stream, Unix datagram.
    fn contacted(&self) -> [bool; 4] {
        let is_heard = |heard: std::io::Result<()>| match heard.map_err(|why| why.kind()) {
            Ok(()) => true,
            Err(std::io::ErrorKind::WouldBlock) => false,
            Err(other) => panic!("{other}"),
        };
        [
            is_heard(self.listener.accept().map(|_| ())),
            is_heard(self.udp.recv(&mut [0]).map(|_| ())),
            is_heard(self.stream.accept().map(|_| ())),
            is_heard(self.datagram.recv(&mut [0]).map(|_| ())),
        ]
    }

    /// Checks that nothing outside was changed.
    fn assert_untouched(&self, before: &std::collections::BTreeMap<String, String>, what: &str) {
        assert_eq!(&tree(self.outside.path()), before, "{what}");
        assert_eq!(self.contacted(), [false; 4], "{what}");
    }
}

/// Whether a test that needs the sandbox can run.
pub(crate) fn can_sandbox(test: &str) -> bool {
    let has_sandbox = has_sandbox();
    if !has_sandbox {
        skip_test(test, "there is no sandbox");
    }
    has_sandbox
}

/// The `cargo` of the toolchain that runs the tests, if it can run in the sandbox.
pub(crate) fn sandboxed_cargo(test: &str) -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    if cargo.is_none() {
        skip_test(test, "`CARGO` is not set");
    }
    cargo.filter(|_| can_sandbox(test))
}

/// Whether this machine supports the sandbox.
fn has_sandbox() -> bool {
    let helper = Program::new(env!("CARGO_BIN_EXE_crh"), Path::new("/")).args(["__sandbox"]);
    helper.stdin(r#"{"run": null}"#).run().code == 0
}

#[test]
fn attacks_succeed_without_sandbox() {
    let scene = HostileFixture::new();
    scene.repo.write("private.txt", "private\n");
    let ruff = Program::new(scene.user.path("tools/ruff"), scene.repo.path());
    let home = tempfile::tempdir().unwrap();
    let ruff = ruff.args(["private.txt"]).env("HOME", home.path().to_str().unwrap());
    let output = ruff.env("SECRET", "SECRET").run();
    let could = output.stdout.replace(FLAGS, "");
    assert!(could.contains(&format!("could: {UNSANDBOXED}\"")), "{}", output.shown());
    assert_eq!(scene.contacted(), [true; 4]);
}

#[test]
fn hostile_change_cannot_escape_sandbox() {
    let scene = HostileFixture::new();
    scene.hostile_change();
    let before = tree(scene.outside.path());
    let (said, warnings) = scene.checked(&[]);
    scene.assert_untouched(&before, "untrusted");
    let expected = vec![format!("could: {SANDBOXED}"); 2];
    if has_sandbox() {
        assert_eq!(said, expected, "{warnings:?}");
    } else {
        assert_eq!(said, [""; 0]);
        let is_said = |it: &String| {
            it.starts_with("analysers did not run (ruff, eslint): this kernel offers no ")
        };
        assert!(warnings.iter().any(is_said), "{warnings:?}");
    }
    let (said, _) = scene.checked(&["--analysers", "never"]);
    assert_eq!(said, [""; 0]);
}

#[test]
fn trusted_hostile_change_stays_in_sandbox() {
    let scene = HostileFixture::new();
    scene.repo.write(".gitignore", "node_modules\n");
    // A linter installed in the checkout takes precedence over the user's.
    let own = scene.repo.path().join("node_modules/.bin/eslint");
    let (_, body) = TOOLS[1];
    let more = "try modules ls CHECKOUT/node_modules\ntry plant append CHECKOUT/node_modules/planted\ntry config cat eslint.config.js\n";
    let more = more.replace("CHECKOUT", scene.repo.path().to_str().unwrap());
    scene.script(&own, &body.replace("PRELUDE\n", &format!("PRELUDE\n{more}")));
    scene.hostile_change();
    let before = tree(scene.outside.path());
    let (mut said, warnings) = scene.checked(&["--trust"]);
    said.sort();
    scene.assert_untouched(&before, "trusted");
    assert!(!scene.repo.path().join("node_modules/planted").exists());
    if has_sandbox() {
        let eslint = format!("could: {SANDBOXED} modules config");
        assert_eq!(said, [format!("could: {SANDBOXED}"), eslint], "{warnings:?}");
    } else {
        assert_eq!(said, [""; 0]);
    }
}

#[test]
fn repository_cannot_trust_itself_or_choose_programs() {
    for settings in ["trust = [\".\"]\n", "[checks]\nanalysers = \"never\"\n"] {
        let repo = Repo::new();
        repo.write("crh.toml", settings);
        repo.commit("base");
        let output = User::new().crh(repo.path(), &["check", "--commit", "HEAD"]).run();
        assert_eq!(output.code, 2, "{}", output.shown());
    }
}
