use std::fs;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::*;

const LONG: Duration = Duration::from_secs(60);

/// A script in the place of crh: the shell takes the first argument as the name of its script.
fn script(text: &str) -> (TempDir, Program) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(ATTENDED), text).unwrap();
    (folder, Program::new("/bin/sh"))
}

fn run(text: &str, time_limit: Duration, stop: &StopFlag) -> Result<ProgramOutput, ProgramError> {
    let (folder, program) = script(text);
    program.run(&Invocation::new(folder.path(), ["show", "a b"], time_limit), stop, |_| {})
}

#[test]
fn output_lines_and_exit_code_are_returned() {
    let (folder, program) = script("echo \"$@\"; echo $KEY; echo '{1' >&2; echo two >&2; exit 3");
    let mut call = Invocation::new(folder.path(), ["show", "a b"], LONG);
    call.variables.push(("KEY".to_owned(), "value".into()));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let on_line = {
        let lines = lines.clone();
        move |line: &str| lines.lock().unwrap().push(line.to_owned())
    };
    let output = program.run(&call, &StopFlag::default(), on_line).unwrap();
    assert_eq!(output.text(), "show a b\nvalue\n");
    assert_eq!((output.code, output.message().as_str()), (Some(3), "two"));
    assert_eq!(*lines.lock().unwrap(), ["{1", "two"]);
}

#[test]
fn stopped_child_ends_with_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    // The grandchild ignores SIGTERM.
    let text = format!(
        "trap 'exit 0' TERM; (trap '' TERM INT; sleep 1000) & echo $! >{0}.new; mv {0}.new {0}; wait",
        ready.display()
    );
    let stop = StopFlag::default();
    let setter = {
        let (stop, ready) = (stop.clone(), ready.clone());
        std::thread::spawn(move || {
            while !ready.exists() {
                std::thread::sleep(POLL_INTERVAL);
            }
            stop.stop();
        })
    };
    let result = run(&text, LONG, &stop);
    assert!(matches!(result, Err(ProgramError::Stopped)), "{result:?}");
    setter.join().unwrap();
    let grandchild: i32 = fs::read_to_string(ready).unwrap().trim().parse().unwrap();
    let is_alive = || {
        let status = fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z")
    };
    let start = Instant::now();
    while is_alive() {
        assert!(start.elapsed() < LONG, "the grandchild is alive");
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[test]
fn time_and_output_are_limited() {
    let stop = StopFlag::default();
    let result = run("exec sleep 1000", Duration::from_millis(50), &stop);
    assert_eq!(result.unwrap_err().to_string(), "crh did not end within 0 s");
    let result = run("exec head -c 100000000 /dev/zero", LONG, &stop);
    assert_eq!(result.unwrap_err().to_string(), "crh printed more than 64 MB");
    let output = run("seq 100000 >&2", LONG, &stop).unwrap();
    assert_eq!((output.stderr.len(), output.stderr[KEPT_LINES - 1].as_str()), (40, "100000"));
}

#[test]
fn missing_program_is_an_error() {
    let call = Invocation::new("/", ["show"], LONG);
    let result = Program::new("/no/crh").run(&call, &StopFlag::default(), |_| {});
    assert!(result.unwrap_err().to_string().starts_with("cannot run `/no/crh`: "));
}
