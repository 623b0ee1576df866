use super::*;
use crate::testing::Fixture;

/// Findings in a workflow that replaces another, as `line rule: title`.
fn changed(old: &str, new: &str) -> Vec<String> {
    findings(&format!(
        "//- .github/workflows/w.yml\n{old}//- head\n//- .github/workflows/w.yml\n{new}"
    ))
}

fn findings(fixture: &str) -> Vec<String> {
    let findings = Fixture::new(fixture).findings_of(&WorkflowCheck).into_iter();
    findings
        .map(|it| it.replace(".github/workflows/w.yml:", "").replace("workflows/", ""))
        .collect()
}

fn job(on: &str, steps: &str) -> String {
    format!("on: {on}\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}")
}

#[track_caller]
fn check_step(step: &str, expected: &[&str]) {
    let base = job("[issues, pull_request]", "      - run: make\n");
    let head = job("[issues, pull_request]", &format!("      - run: make\n{step}"));
    assert_eq!(changed(&base, &head), expected, "{step}");
}

#[test]
fn untrusted_data_in_a_script_is_reported() {
    for name in script::UNTRUSTED_VALUES {
        let title = format!("script-injection: `{name}` becomes part of a script");
        check_step(&format!("      - run: echo \"${{{{ {name} }}}}\"\n"), &[&format!("7 {title}")]);
        check_step(
            &format!(
                "      - name: x\n        run: |\n          set -e\n\n          echo '${{{{{name}}}}}'\n"
            ),
            &[&format!("11 {title}")],
        );
    }
}

#[test]
#[rustfmt::skip]
fn every_script_input_is_checked() {
    for (step, line) in [
        ("      - run: echo ${{ toJSON(github.event) }}\n", 7),
        ("      - run: echo '${{ toJSON(github) }}'\n", 7),
        ("      - run: echo ${{ format('x{0}', github.event.issue.title) }}\n", 7),
        ("      - run: 'echo ${{ format(''{0}'', github.head_ref) }}'\n", 7),
        ("      - run: \"echo ${{ github.head_ref || github.ref_name }}\"\n", 7),
        ("      - run: echo ${{ github.event['issue']['title'] }}\n", 7),
        ("      - run: >-\n          a\n          ${{ 1 }}\n          ${{ github.head_ref }}\n", 10),
        ("      - run: echo ${{ env.T }}\n        env:\n          T: ${{ github.head_ref }}\n", 7),
        ("      - run: echo ${{ env['T'] }} ${{ toJSON(env) }}\n        env:\n          T: ${{ github.head_ref }}\n", 7),
        ("      - run: echo ${{ env[format('T')] }}\n        env:\n          T: ${{ github.head_ref }}\n", 7),
        ("      - run: echo ${{ fromJSON(toJSON(github.event.issue)).title }}\n", 7),
        ("      - uses: actions/github-script@v7\n        with:\n          script: |\n            f(`${{ github.event.issue.title }}`)\n", 10),
        ("      - parallel:\n          - run: echo ${{ github.head_ref }}\n", 8),
        ("      - run: |\n          # ${{ github.ref }}\n          echo ${{ github.event.commits[0].author.name }}\n", 9),
    ] {
        let base = job("issues", "      - run: make\n");
        let findings = changed(&base, &job("issues", &format!("      - run: make\n{step}")));
        assert!(
            findings.len() == 1 && findings[0].starts_with(&format!("{line} script")),
            "{step} {findings:?}"
        );
    }
}

#[test]
fn untrusted_data_outside_of_scripts_is_not_reported() {
    for step in [
        "      - run: echo \"$T\"\n        env:\n          T: ${{ github.event.issue.title }}\n",
        "      - run: echo ${{ github.head_ref == 'x' }}\n",
        "      - run: echo ${{ contains(github.event.issue.title, 'x') }}\n",
        "      - run: echo ${{ github.head_ref && 'yes' || 'no' }}\n",
        "      - run: echo ${{ github.event.pull_request.number }} ${{ github.sha }} ${{ github.ref }}\n",
        "      - run: echo ${{ github.event.pull_request.head.sha }}\n",
        "      - run: echo github.event.issue.title\n",
        "      - run: make\n        if: github.head_ref != ''\n",
        "      - name: ${{ github.event.issue.title }}\n        run: make\n",
        "      # - run: echo ${{ github.head_ref }}\n",
        "      - uses: actions/x@v1\n        with:\n          title: ${{ github.event.issue.title }}\n",
        "      - uses: actions/github-script@v7\n        with:\n          script: |\n            f(${{ toJSON(github.event.issue.title) }})\n",
        "      - run: echo ${{ inputs.title }} ${{ env.OTHER }}\n",
    ] {
        check_step(step, &[]);
    }
}

#[test]
fn existing_script_injection_is_not_reported() {
    let step = "      - run: echo ${{ github.head_ref }}\n";
    let old = job("issues", step);
    let new = job("[issues, push]", &format!("      - run: make\n{step}"));
    assert!(changed(&old, &new).is_empty());
    let renamed = format!(
        "//- .github/workflows/v.yml\n{old}//- head\n//- .github/workflows/w.yml from .github/workflows/v.yml\n{new}"
    );
    assert!(findings(&renamed).is_empty());
}

#[test]
fn composite_action_scripts_are_checked() {
    let action = "runs:\n  using: composite\n  steps:\n    - run: echo ${{ github.head_ref }}\n      shell: bash\n";
    let reported = findings(&format!("//- head\n//- tools/x/action.yml\n{action}"));
    assert_eq!(
        reported,
        ["tools/x/action.yml:4 script-injection: `github.head_ref` becomes part of a script"]
    );
    let reported = findings(&format!("//- head\n//- tests/fixtures/action.yml\n{action}"));
    assert!(reported.is_empty());
}

const CHECKOUT: &str = "      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha }}\n";

#[test]
fn untrusted_job_and_workflow_variables_are_reported() {
    for (workflow, job_env) in [
        ("env:\n  T: ${{ github.event.issue.title }}\n", ""),
        ("", "    env:\n      T: ${{ github.event.issue.title }}\n"),
    ] {
        let text = |run: &str| {
            format!(
                "on: issues\n{workflow}jobs:\n  a:\n    runs-on: x\n{job_env}    steps:\n      - run: {run}\n"
            )
        };
        assert_eq!(changed(&text("make"), &text("echo ${{ env.T }}")).len(), 1, "{workflow}");
        assert_eq!(changed(&text("make"), &text("echo \"$T\"")), [""; 0], "{workflow}");
    }
}

/// Steps that check out the head, with the reported line.
#[rustfmt::skip]
const CHECKOUTS: &[(&str, u32)] = &[
    ("      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.head_ref }}\n", 8),
    ("      - uses: actions/checkout@v4\n        with: {ref: '${{ github.event.pull_request.head.ref }}'}\n", 7),
    ("      - uses: actions/checkout@v4\n        with:\n          ref: refs/pull/${{ github.event.number }}/merge\n", 8),
    ("      - uses: actions/checkout@v4\n        with:\n          ref: \"refs/pull/${{ github.event.pull_request.number }}/head\"\n", 8),
    ("      - uses: actions/checkout@v4\n        with:\n          repository: ${{ github.event.pull_request.head.repo.full_name }}\n", 8),
    ("      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha || github.sha }}\n", 8),
    ("      - run: |\n          gh pr checkout ${{ github.event.number }}\n", 7),
    ("      - run: gh pr checkout \"$PR\"\n", 6),
    ("      - run: git fetch origin pull/${{ github.event.number }}/merge && git checkout FETCH_HEAD\n", 6),
    ("      - run: |\n          git fetch origin refs/pull/$N/head:x\n          git checkout x\n", 7),
    ("      - run: git checkout ${{ github.event.pull_request.head.sha }}\n", 6),
    ("      - run: |\n          git fetch origin \"$SHA\"\n          git checkout --force \"$SHA\"\n        env:\n          SHA: ${{ github.event.pull_request.head.sha }}\n", 8),
    ("      - env:\n          REF: ${{ github.head_ref }}\n        run: git switch ${REF}\n", 8),
    ("      - run: git clone ${{ github.event.pull_request.head.repo.clone_url }} x\n", 6),
    ("      - run: git checkout -b pr ${{ github.event.pull_request.head.sha }}\n", 6),
    ("      - run: git checkout -B \"$B\" \"origin/$B\"\n        env:\n          B: ${{ github.head_ref }}\n", 6),
    ("      - run: git switch -c pr --track \"origin/$B\"\n        env:\n          B: ${{ github.head_ref }}\n", 6),
    ("      - run: git fetch origin \"$B\" && git checkout -b \"$B\" FETCH_HEAD\n        env:\n          B: ${{ github.head_ref }}\n", 6),
    ("      - run: git checkout -b \"x-$B\" && git reset --hard \"$B\"\n        env:\n          B: ${{ github.head_ref }}\n", 6),
    ("      - run: git clone --depth 1 \"$URL\" x\n        env:\n          URL: ${{ github.event.pull_request.head.repo.html_url }}\n", 6),
    ("      - run: git pull ${{ github.event.pull_request.head.repo.clone_url }} main\n", 6),
    ("      - uses: actions/checkout@v4\n        with:\n          ref: ${{ format('refs/pull/{0}/merge', github.event.number) }}\n", 8),
    ("      - uses: actions/checkout@v4\n        env:\n          REF: ${{ github.head_ref }}\n        with:\n          ref: ${{ env.REF }}\n", 10),
    ("      - uses: actions/checkout@v4\n        with:\n          repository: ${{ github.event.pull_request.head.repo.full_name }}\n          ref: ${{ github.event.pull_request.head.ref }}\n", 9),
];

#[test]
fn step_variable_overrides_job_and_workflow() {
    let (base, head) = ("pull_request.base.sha", "pull_request.head.sha");
    let text = |workflow: &str, job_value: &str, step: &str| {
        let env = |indentation: &str, value: &str| {
            let set =
                format!("{indentation}env:\n{indentation}  REF: ${{{{ github.event.{value} }}}}\n");
            if value.is_empty() { String::new() } else { set }
        };
        let (workflow, job_env, step) =
            (env("", workflow), env("    ", job_value), env("        ", step));
        format!(
            "on: pull_request_target\n{workflow}jobs:\n  a:\n    runs-on: x\n{job_env}    steps:\n      - run: git checkout \"$REF\"\n{step}"
        )
    };
    for (workflow, job_value, step, expected) in [
        ("", head, base, 0),
        (head, "", base, 0),
        (head, base, "", 0),
        (base, base, head, 1),
        (base, head, "", 1),
        (head, "", "", 1),
    ] {
        let text = text(workflow, job_value, step);
        let findings = findings(&format!("//- head\n//- .github/workflows/w.yml\n{text}"));
        let checkouts = findings.iter().filter(|it| it.contains("untrusted-checkout")).count();
        assert_eq!(checkouts, expected, "{text} {findings:?}");
    }
}

#[test]
fn untrusted_checkout_with_secrets_is_reported() {
    let expected = |line: u32| {
        vec![format!(
            "{line} untrusted-checkout: `pull_request_target` with a checkout of the pull request's head"
        )]
    };
    // Either the trigger or the checkout may be new.
    let base = job("pull_request_target", "      - run: make\n");
    let pull = job("pull_request", CHECKOUT);
    assert_eq!(changed(&base, &job("pull_request_target", CHECKOUT)), expected(8));
    assert_eq!(changed(&pull, &job("pull_request_target", CHECKOUT)), expected(1));
    assert_eq!(changed(&pull, &job("[push, pull_request_target]", CHECKOUT)), expected(1));
    assert_eq!(
        findings(&format!(
            "//- head\n//- .github/workflows/w.yml\n{}",
            job("pull_request_target", CHECKOUT)
        )),
        expected(8)
    );
    for (steps, line) in CHECKOUTS {
        let head = job("pull_request_target", steps);
        assert_eq!(changed(&base, &head), expected(*line), "{steps}");
    }
    let run = job("\n  workflow_run:\n    workflows: [CI]", "      - run: make\n");
    let head = job(
        "\n  workflow_run:\n    workflows: [CI]",
        "      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.workflow_run.head_sha }}\n",
    );
    assert_eq!(changed(&run, &head).len(), 1);
}

/// Steps that check out nothing untrusted.
const NO_CHECKOUTS: &[&str] = &[
    "      - uses: actions/checkout@v4\n",
    "      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.base.sha }}\n",
    "      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.sha }}\n",
    "      - run: git fetch origin pull/1/merge\n",
    "      - run: git diff ${{ github.event.pull_request.head.sha }}\n",
    "      - run: git merge-base origin/main ${{ github.event.pull_request.head.sha }}\n",
    "      - run: git diff $SHA\n        env:\n          SHA: ${{ github.event.pull_request.head.sha }}\n",
    "      - run: git merge-base main $SHA\n        env:\n          SHA: ${{ github.event.pull_request.head.sha }}\n",
    "      - run: git checkout $SHA\n        env:\n          SHA: ${{ github.event.pull_request.base.sha }}\n",
    "      - run: git checkout $SHADOW\n        env:\n          SHA: ${{ github.event.pull_request.head.sha }}\n",
    "      - run: |\n          # git checkout $SHA\n          make\n        env:\n          SHA: ${{ github.event.pull_request.head.sha }}\n",
    "      - run: git clone ${{ github.event.pull_request.base.repo.clone_url }}\n",
    "      - run: |\n          # gh pr checkout 1\n          make\n",
    "      - run: git checkout -b \"backport-$B\"\n        env:\n          B: ${{ github.head_ref }}\n",
    "      - run: git checkout -b backport-$B main && git push origin backport-$B\n        env:\n          B: ${{ github.head_ref }}\n",
    "      - run: git switch --quiet -c 'fmt'-${B}; git push\n        env:\n          B: ${{ github.head_ref }}\n",
    "      - run: git checkout --orphan \"$B\"\n        env:\n          B: ${{ github.head_ref }}\n",
    "      - run: git checkout -B fmt/${SHA} origin/main\n        env:\n          SHA: ${{ github.event.pull_request.head.sha }}\n",
    "      - run: git checkout -b fmt/${{ github.event.pull_request.head.sha }} origin/main\n",
    "      - run: git switch -C \"fmt/${{ github.event.pull_request.head.sha }}\"\n",
];

#[test]
fn harmless_checkout_is_not_reported() {
    let base = job("pull_request_target", "      - run: make\n");
    for steps in NO_CHECKOUTS {
        assert_eq!(changed(&base, &job("pull_request_target", steps)), [""; 0], "{steps}");
    }
    let guarded_checkout = CHECKOUT.replace(
        "        with",
        "        if: github.event.pull_request.head.repo.full_name == github.repository\n        with",
    );
    assert!(changed(&base, &job("pull_request_target", &guarded_checkout)).is_empty());
    for condition in [
        "github.event_name == 'push'",
        "github.event_name != 'pull_request_target'",
        "${{ !github.event.pull_request.head.repo.fork }}",
        "contains(github.event.pull_request.labels.*.name, 'safe to test')",
        "github.event.label.name == 'safe to test'",
        "github.actor == 'dependabot[bot]'",
        "github.event_name == 'push' || github.actor == 'me'",
        "(github.event_name == 'push' || github.event_name == 'schedule') && success()",
        "${{ always() && (github.actor == 'me || you' || (github.event_name == 'push')) }}",
    ] {
        let guarded_checkout =
            CHECKOUT.replace("        with", &format!("        if: {condition}\n        with"));
        assert_eq!(
            changed(&base, &job("pull_request_target", &guarded_checkout)),
            [""; 0],
            "{condition}"
        );
    }
    for no_gate in [
        "github.event_name != 'schedule'",
        "github.repository_owner == 'me' && !contains(github.event.pull_request.labels.*.name, 'x')",
        "github.actor != 'dependabot[bot]'",
        "contains(github.event_name, 'pull_request') || github.event_name == 'push'",
        "github.actor == 'dependabot[bot]' || always()",
        "github.event.action == 'opened' || contains(github.event.pull_request.labels.*.name, 'x')",
        "success() && (github.actor == 'me' || github.event.action == 'opened')",
        "needs.labels-of-images.result == 'success'",
        "contains(github.event.pull_request.head.label, 'main')",
        "!(github.actor == 'me')",
        "((((((((((github.actor == 'me'))))))))))",
    ] {
        let step =
            CHECKOUT.replace("        with", &format!("        if: {no_gate}\n        with"));
        assert_eq!(changed(&base, &job("pull_request_target", &step)).len(), 1, "{no_gate}");
    }
    let pull = job("pull_request", "      - run: make\n");
    assert!(changed(&pull, &job("pull_request", CHECKOUT)).is_empty());
    let was_there = job("pull_request_target", &format!("      - run: make\n{CHECKOUT}"));
    assert!(changed(&job("pull_request_target", CHECKOUT), &was_there).is_empty());
    // The followed workflow is known and does not run for pull requests.
    let follows = job(
        "\n  workflow_run:\n    workflows: [CI]",
        "      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.workflow_run.head_sha }}\n",
    );
    let fixture = |on: &str| {
        format!(
            "//- .github/workflows/ci.yml\nname: CI\non: {on}\n//- head\n//- .github/workflows/w.yml\n{follows}"
        )
    };
    assert!(findings(&fixture("push")).is_empty());
    assert_eq!(findings(&fixture("[push, pull_request]")).len(), 1);
}

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

#[track_caller]
fn check_action(old: &[&str], new: &[&str], expected: &[&str]) {
    let steps = |uses: &[&str]| {
        let steps: Vec<String> = uses.iter().map(|it| format!("      - uses: {it}\n")).collect();
        job("push", &format!("      - run: make\n{}", steps.concat()))
    };
    assert_eq!(changed(&steps(old), &steps(new)), expected, "{old:?} {new:?}");
}

#[test]
fn newly_unpinned_action_is_reported() {
    let pinned = format!("some/action@{SHA}");
    let other = format!("other/thing@{SHA}");
    let no_longer = "7 unpinned-action: `some/action` is no longer pinned to a commit";
    check_action(&[&pinned], &["some/action@v1"], &[no_longer]);
    check_action(&[&pinned], &["some/action@main"], &[no_longer]);
    check_action(&[&pinned], &["Some/Action@v1.2.3"], &[no_longer]);
    let branch = "7 unpinned-action: `some/action` is used at the branch `main`";
    check_action(&[], &["some/action@main"], &[branch]);
    check_action(&["some/action@v1"], &["some/action@main"], &[branch]);
    let new = "7 unpinned-action: `some/action` is new here and not pinned to a commit";
    check_action(&[], &["some/action@v1"], &[new]);
    check_action(&["b/c@v1"], &["some/action@v1", "b/c@v1"], &[new]);
    // One finding for all new actions, except those with an ignore comment.
    check_action(&[], &["some/action@v1", "b/c@v1", "d/e@v1"], &[new]);
    check_action(
        &[],
        &["some/action@v1", "b/c@v1 # crh:ignore workflows/unpinned-action ours"],
        &[new, "8 unpinned-action: `b/c` is new here and not pinned to a commit"],
    );
    check_action(
        &[&other],
        &["some/action@v1", &other],
        &["7 unpinned-action: `some/action` is not pinned to a commit, unlike the others"],
    );
    let digest = format!("docker://a/b@sha256:{}", "0".repeat(64));
    check_action(
        &[&digest],
        &["docker://a/b:1"],
        &["7 unpinned-action: `docker://a/b` is no longer pinned to a commit"],
    );
}

#[test]
fn pinned_or_known_actions_are_not_reported() {
    let pinned = format!("some/action@{SHA}");
    check_action(&[], &[&pinned], &[]);
    check_action(&["some/action@v3"], &["some/action@v4"], &[]);
    check_action(&["some/action@v3"], &[&pinned], &[]);
    check_action(&["some/action@main"], &["some/action@main", "some/action@master"], &[]);
    check_action(&["some/action@v3"], &["some/other@v4", "some/action@v3"], &[]);
    check_action(&[], &["actions/cache@v4", "github/codeql-action/init@v3", "./local"], &[]);
    check_action(&[], &["dtolnay/rust-toolchain@stable"], &[]);
    check_action(&[], &["${{ inputs.action }}"], &[]);
    // The same action or owner was used in another workflow, and the file is new.
    let step = job("push", "      - uses: some/action@v1\n");
    let fixture =
        format!("//- .github/workflows/v.yml\n{step}//- head\n//- .github/workflows/w.yml\n{step}");
    assert!(findings(&fixture).is_empty());
    let fixture = format!(
        "//- go.mod\nmodule github.com/some/tool\n//- head\n//- .github/workflows/w.yml\n{step}"
    );
    assert!(findings(&fixture).is_empty());
    // Possibly a workflow of the same organisation.
    let call = "on: push\njobs:\n  a:\n    uses: some/shared/.github/workflows/x.yml@main\n";
    assert!(changed("on: push\n", call).is_empty());
}

fn permissions(workflow: &str, job: &str) -> String {
    format!("on: push\n{workflow}jobs:\n  a:\n    runs-on: x\n{job}    steps: []\n")
}

#[test]
fn broader_permissions_are_reported() {
    let read = permissions("permissions:\n  contents: read\n", "");
    let check =
        |old: &str, new: &str, expected: &[&str]| assert_eq!(changed(old, new), expected, "{new}");
    let nothing = permissions("", "");
    let write = permissions("permissions:\n  contents: write\n", "");
    let write_all_block = permissions("permissions: write-all\n", "");
    let job_read = permissions("", "    permissions:\n      contents: read\n");
    let now = "3 broader-permissions: The token of the workflow can now write: `contents`";
    let write_all = "broader-permissions: `write-all` gives the workflow every permission";
    let gone = "broader-permissions: The limit on the token's permissions is removed";
    check(&read, &write, &[now]);
    check(&read, &permissions("permissions: { contents: write }\n", ""), &[&now.replace('3', "2")]);
    check(&permissions("permissions: {}\n", ""), &write, &[now]);
    check(&permissions("permissions: read-all\n", ""), &write, &[now]);
    let more = "permissions:\n  contents: read\n  issues: write\n  id-token: write\n";
    let two = "4 broader-permissions: The token of the workflow can now write: `issues` and 1 more";
    check(&read, &permissions(more, ""), &[two]);
    check(&read, &write_all_block, &[&format!("2 {write_all}")]);
    check(&nothing, &write_all_block, &[&format!("2 {write_all}")]);
    check(&read, &nothing, &[&format!("2 {gone}")]);
    let now = "broader-permissions: The token of the job `a` can now write: `contents`";
    let job_write = "    permissions:\n      contents: write\n";
    let both = permissions("permissions:\n  contents: read\n", job_write);
    check(&read, &both, &[&format!("8 {now}")]);
    check(&job_read, &permissions("", job_write), &[&format!("6 {now}")]);
    let every = "5 broader-permissions: `write-all` gives the job `a` every permission";
    check(&nothing, &permissions("", "    permissions: write-all\n"), &[every]);
    check(&job_read, &nothing, &[&format!("5 {gone}")]);
}

#[test]
fn unchanged_permissions_are_not_reported() {
    let write = permissions("permissions:\n  contents: write\n", "");
    let check = |old: &str, new: &str| assert_eq!(changed(old, new), [""; 0], "{new}");
    check(&permissions("", ""), &write);
    check(&write, &permissions("permissions:\n  contents: read\n", ""));
    check(&write, &permissions("", ""));
    check(
        &write,
        &permissions(
            "permissions:\n  contents: read\n",
            "    permissions:\n      contents: write\n",
        ),
    );
    check(
        &permissions("permissions:\n  contents: read\n", ""),
        &permissions("", "    permissions:\n      contents: read\n"),
    );
    let two = format!(
        "{}  b:\n    permissions:\n      contents: write\n    steps: []\n",
        permissions("permissions:\n  contents: read\n", "")
    );
    check(&permissions("permissions:\n  contents: read\n", ""), &two);
    check("", &write);
}

#[test]
fn hostile_text_gives_no_finding() {
    let deep = format!("on: push\na: {}1{}\n", "[".repeat(5_000), "]".repeat(5_000));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    let documents = "on: push\n---\non: issues\n";
    for (text, is_checked) in [
        (deep.as_str(), false),
        (bomb, false),
        (documents, false),
        ("a: b: c\n", false),
        ("- x\n", true),
        ("", true),
        ("on: 1\njobs: 2\n", true),
    ] {
        let fixture = Fixture::new(&format!("//- head\n//- .github/workflows/w.yml\n{text}"));
        for file_findings in fixture.file_findings_of(&WorkflowCheck) {
            assert!(file_findings.findings.is_empty());
            assert_eq!(file_findings.abort_reason.is_none(), is_checked, "{text}");
        }
    }
}

#[test]
fn repository_workflows_are_read_once() {
    let follows = |at: usize| {
        let step = format!(
            "      - uses: me{at}/act@v1\n      - uses: actions/checkout@v4\n        with:\n          ref: ${{{{ github.event.workflow_run.head_sha }}}}\n"
        );
        job("\n  workflow_run:\n    workflows: [CI]", &step)
    };
    let fixture_with = |count: usize| {
        let head: String = (0..count)
            .map(|at| format!("//- .github/workflows/w{at}.yml\n{}", follows(at)))
            .collect();
        let base = "//- .github/workflows/ci.yml\nname: CI\non: pull_request\n//- .github/workflows/d.yml\non: push\n";
        Fixture::new(&format!("{base}//- head\n{head}"))
    };
    let (one, many) = (fixture_with(1), fixture_with(10));
    assert_eq!(one.findings_of(&WorkflowCheck).len() * 10, many.findings_of(&WorkflowCheck).len());
    // Nine more workflows mean nine more reads on the new side.
    assert_eq!(one.reads() + 9, many.reads());
}

#[test]
fn unreadable_repository_files_are_noted() {
    let step = "      - uses: me/act@v1\n";
    let fixture = format!(
        "//- .github/workflows/ci.yml\nname: CI\non: push\n//- head\n//- .github/workflows/w.yml\n{}",
        job("push", step)
    );
    let fixture = Fixture::new(&fixture).with_unreadable(".github/workflows/ci.yml");
    let notes: Vec<String> =
        fixture.file_findings_of(&WorkflowCheck).into_iter().flat_map(|it| it.notes).collect();
    assert_eq!(
        notes,
        ["`.github/workflows/w.yml` was checked, but 1 file of the repository could not be read"]
    );
}

#[test]
fn workflows_over_the_limit_are_noted() {
    let notes = |count: usize| -> Vec<String> {
        let base: String = (0..count)
            .map(|at| format!("//- .github/workflows/old{at}.yml\nname: CI\non: push\n"))
            .collect();
        let head = job("push", "      - uses: me/act@v1\n");
        let fixture = Fixture::new(&format!("{base}//- head\n//- .github/workflows/w.yml\n{head}"));
        fixture.file_findings_of(&WorkflowCheck).into_iter().flat_map(|it| it.notes).collect()
    };
    assert_eq!(notes(100), [""; 0]);
    assert_eq!(
        notes(102),
        [
            "`.github/workflows/w.yml` was compared with 100 workflows and actions of the repository; 2 more were not read"
        ]
    );
}
