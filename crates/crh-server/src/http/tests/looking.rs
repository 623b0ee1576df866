//! Who sees the page, and what it does.

use super::*;
use crate::job::JobState;

fn token_form() -> String {
    format!("token={}", PAGE_TOKEN.replace(' ', "+"))
}

/// The hidden field of the first form.
fn csrf(page: &str) -> String {
    let start = page.split("name=\"csrf\" value=\"").nth(1).unwrap();
    start.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn public_address_needs_sign_in() {
    let (github, folder) = (FakeGitHub::start(), TempDir::new().unwrap());
    let url = DatabaseUrl::Sqlite(folder.path().join("crh.db"));
    let store = Store::open(&url).await.unwrap();
    // A proxy makes a loopback address public.
    for (address, public_url) in
        [("0.0.0.0:0", None), ("127.0.0.1:0", Some("https://crh.example.com".to_owned()))]
    {
        let settings = settings(&folder, SignIn::default(), public_url);
        let address = address.parse().unwrap();
        let bound = HttpServer::bind(address, store.clone(), access(&github), settings).await;
        let error = bound.unwrap_err();
        assert!(matches!(error, StartError::OpenPage(_)), "{error}");
    }
}

#[tokio::test]
async fn dead_letter_is_retried_with_the_token_of_the_form() {
    let server = TestServer::start(TestSignIn::Token).await;
    server.deliver("pull_request", "d-1", &push("acme/shop", 12, HEAD, 1)).await;
    let job = server.kill_next_job("the disk is <full>").await;
    for path in ["/", "/reviews", "/repositories", "/audit", "/events", &format!("/jobs/{job}")] {
        let (status, location, _) = server.get(path, "").await;
        assert_eq!((status, location.as_str()), (303, "/sign-in"), "{path}");
    }
    assert_eq!(server.post("/sign-in", "", "token=wrong").await.0, 401);
    let (status, location, cookie) = server.post("/sign-in", "", &token_form()).await;
    assert_eq!((status, location.as_str()), (303, "/"));
    let path = format!("/jobs/{job}");
    let (status, page, _) = server.get(&path, &cookie).await;
    assert_eq!(status, 200);
    assert!(page.contains("the disk is &lt;full&gt;"), "{page}");
    let retry = format!("{path}/retry");
    assert_eq!(server.post(&retry, &cookie, "").await.0, 403);
    assert_eq!(server.post(&retry, &cookie, "csrf=0").await.0, 403);
    assert_eq!(server.post(&retry, "", &format!("csrf={}", csrf(&page))).await.1, "/sign-in");
    assert_eq!(server.store.job(job).await.unwrap().state, JobState::Dead);
    let form = format!("csrf={}", csrf(&page));
    assert_eq!(server.post(&retry, &cookie, &form).await.0, 303);
    assert_eq!(server.store.job(job).await.unwrap().state, JobState::Waiting);
    assert_eq!(server.post(&retry, &cookie, &form).await.0, 409);
    assert_eq!(server.post(&format!("{path}/cancel"), &cookie, &form).await.0, 303);
    assert!(server.get("/audit", &cookie).await.1.contains("operator"));
    assert_eq!(server.post("/sign-out", &cookie, &form).await.1, "/sign-in");
    assert_eq!(server.get("/", &cookie).await.1, "/sign-in");
    server.stop().await;
}

#[tokio::test]
async fn person_sees_only_repositories_with_access() {
    let server = TestServer::start(TestSignIn::GitHub).await;
    let repo = crh_testkit::Repo::from_fixture("\n//- a.txt\na\n");
    for name in ["acme/shop", "acme/tools", "acme/secret"] {
        server.github.repository(name, &repo);
        // Before, the name belonged to an account with another installation.
        server.deliver("pull_request", &name.replace('/', "-0-"), &push(name, 11, HEAD, 1)).await;
        let mut payload = push(name, 12, HEAD, 1);
        payload["installation"]["id"] = json!(server.installation.0);
        server.deliver("pull_request", &name.replace('/', "-"), &payload).await;
    }
    server.github.role("acme/shop", "ann", "write").role("acme/tools", "ann", "read");
    let jobs = server.jobs().await;
    let job = |name: &str| jobs.iter().find(|job| job.key.change.repository == name).unwrap().id;
    // The browser goes to GitHub and comes back.
    let (status, to_github, cookie) = server.get("/sign-in/github", "").await;
    assert_eq!(status, 303);
    let (_, back, _) = answer(server.http.get(&to_github)).await;
    let back = back.strip_prefix(&server.url).unwrap();
    assert_eq!(server.get(back, "").await.0, 400, "another browser");
    assert_eq!(server.get("/sign-in/github/callback?code=x&state=y", &cookie).await.0, 400);
    let (status, location, cookie) = server.get(back, &cookie).await;
    assert_eq!((status, location.as_str()), (303, "/"));
    for path in ["/", "/repositories", "/api/jobs"] {
        let (_, page, _) = server.get(path, &cookie).await;
        assert!(page.contains("acme/shop") && page.contains("acme/tools"), "{path}");
        assert!(!page.contains("acme/secret"), "{path}");
    }
    assert!(server.get("/api/queue", &cookie).await.1.contains("\"waiting\":2"));
    let hidden = format!("/jobs/{}", job("acme/secret"));
    let of_former_owner = jobs
        .iter()
        .find(|job| (job.key.change.repository.as_str(), job.installation.0) == ("acme/shop", 7));
    let of_former_owner = format!("/jobs/{}", of_former_owner.unwrap().id);
    for path in [
        hidden.as_str(),
        of_former_owner.as_str(),
        "/jobs/999",
        "/jobs/x",
        "/repositories/acme/secret",
        "/reviews/1",
        "/audit",
    ] {
        assert_eq!(server.get(path, &cookie).await.0, 404, "{path}");
    }
    let (_, page, _) = server.get("/", &cookie).await;
    let form = format!("csrf={}", csrf(&page));
    for (name, expected) in [("acme/secret", 404), ("acme/tools", 403), ("acme/shop", 303)] {
        let path = format!("/jobs/{}/cancel", job(name));
        assert_eq!(server.post(&path, &cookie, &form).await.0, expected, "{name}");
    }
    assert_eq!(server.github.surprises(), Vec::<String>::new());
    server.stop().await;
}

#[tokio::test]
async fn pages_have_safe_headers_and_an_own_host() {
    let server = TestServer::start(TestSignIn::None).await;
    let get = |path: &str| server.http.get(format!("{}{path}", server.url));
    let answer = get("/").send().await.unwrap();
    for (name, part) in [
        ("content-security-policy", "script-src 'self'"),
        ("content-security-policy", "frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
    ] {
        let value = answer.headers().get(name).unwrap().to_str().unwrap();
        assert!(value.contains(part), "{name}: {value}");
    }
    let text = answer.text().await.unwrap();
    assert!(!text.contains("<script>") && !text.contains("style="), "{text}");
    let rebound = get("/").header("host", "evil.example").send().await.unwrap();
    assert_eq!(rebound.status().as_u16(), 403);
    let forged = server
        .http
        .post(format!("{}/jobs/1/retry", server.url))
        .header("origin", "https://evil.example");
    assert_eq!(forged.send().await.unwrap().status().as_u16(), 403);
    assert_eq!(get("/nothing").send().await.unwrap().status().as_u16(), 404);
    server.stop().await;
}

#[tokio::test]
async fn cookies_are_protected() {
    let server = TestServer::start(TestSignIn::Token).await;
    let request = server.http.post(format!("{}/sign-in", server.url));
    let request =
        request.header("content-type", "application/x-www-form-urlencoded").body(token_form());
    let answer = request.send().await.unwrap();
    let cookie = answer.headers().get("set-cookie").unwrap().to_str().unwrap();
    assert!(cookie.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"), "{cookie}");
    server.stop().await;
}

#[tokio::test]
async fn metrics_need_the_token_and_count() {
    let server = TestServer::start(TestSignIn::Token).await;
    server.deliver("pull_request", "d-1", &push("acme/shop", 12, HEAD, 1)).await;
    server.deliver("pull_request", "d-2", &push("acme/shop", 13, HEAD, 1)).await;
    server.kill_next_job("no").await;
    for path in ["/metrics", "/api/queue", "/api/jobs", "/api/reviews"] {
        let (status, text, _) = server.get(path, "").await;
        assert_eq!(status, 401, "{path}: {text}");
        let request = server.http.get(format!("{}{path}", server.url));
        let (status, _, _) = answer(request.header("authorization", "Bearer wrong")).await;
        assert_eq!(status, 401, "{path}");
    }
    let request = server.http.get(format!("{}/api/queue", server.url));
    let request = request.header("authorization", format!("Bearer {PAGE_TOKEN}"));
    assert!(answer(request).await.1.contains("\"waiting\":1"));
    let request = server.http.get(format!("{}/metrics", server.url));
    let (status, text, _) =
        answer(request.header("authorization", format!("Bearer {PAGE_TOKEN}"))).await;
    assert_eq!(status, 200);
    for line in [
        "crh_queue_jobs{state=\"waiting\"} 1",
        "crh_queue_jobs{state=\"dead\"} 1",
        "crh_jobs_ended{kind=\"review\",outcome=\"dead\"} 1",
        "crh_deliveries_total{result=\"accepted\"} 2",
        "crh_stored_reviews 0",
        "crh_stored_reviews_within{seconds=\"30\"} 0",
        "crh_spent_usd 0",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    assert!(!text.contains("acme"), "{text}");
    // Only what this process counts is a counter. Retention deletes rows, and counters only grow.
    let kinds =
        text.lines().filter(|line| line.starts_with("# TYPE ") && !line.ends_with(" gauge"));
    assert_eq!(kinds.collect::<Vec<_>>(), ["# TYPE crh_deliveries_total counter"]);
    server.stop().await;
}

#[tokio::test]
async fn queue_change_reaches_the_browser() {
    let server = TestServer::start(TestSignIn::None).await;
    let mut answer = server.http.get(format!("{}/events", server.url)).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let get = async || server.http.get(format!("{}/events", server.url)).send().await.unwrap();
    let second = get().await;
    assert_eq!((second.status().as_u16(), get().await.status().as_u16()), (200, 503));
    server.deliver("pull_request", "d-1", &push("acme/shop", 12, HEAD, 1)).await;
    let event = tokio::time::timeout(Duration::from_secs(30), answer.chunk()).await;
    assert!(event.unwrap().unwrap().unwrap().starts_with(b"data: "));
    drop((answer, second));
    server.stop().await;
}

#[tokio::test]
async fn replaced_page_token_ends_its_sessions() {
    let server = TestServer::start(TestSignIn::Token).await;
    let (_, _, cookie) = server.post("/sign-in", "", &token_form()).await;
    assert_eq!(server.get("/", &cookie).await.0, 200);
    let file = server.folder.path().join("page-token");
    std::fs::write(&file, "another token of the page").unwrap();
    assert_eq!(server.get("/", &cookie).await.1, "/sign-in");
    assert_eq!(server.post("/sign-in", "", &token_form()).await.0, 401);
    // The old session is gone for good.
    std::fs::write(&file, PAGE_TOKEN).unwrap();
    assert_eq!(server.get("/", &cookie).await.1, "/sign-in");
    std::fs::write(&file, "short").unwrap();
    assert_eq!(server.post("/sign-in", "", "token=short").await.0, 503);
    server.stop().await;
}

#[tokio::test]
async fn metrics_without_a_token_are_only_for_local_names() {
    let server = TestServer::start(TestSignIn::None).await;
    let ask = |host: &'static str| {
        answer(server.http.get(format!("{}/metrics", server.url)).header("host", host))
    };
    assert_eq!(ask("localhost:1").await.0, 200);
    assert_eq!(ask("evil.example").await.0, 401);
    server.stop().await;
}

#[tokio::test]
async fn full_disk_is_visible_and_loses_nothing() {
    let server = TestServer::start(TestSignIn::None).await;
    assert_eq!(server.deliver("pull_request", "d-1", &push("acme/shop", 12, HEAD, 1)).await, 202);
    assert_eq!(server.get("/readyz", "").await.0, 200);
    // Triggers fail like SQLite does if the disk is full.
    let url = format!("sqlite://{}", server.folder.path().join("crh.db").display());
    let pool = sqlx::AnyPool::connect(&url).await.unwrap();
    for trigger in ["INSERT ON jobs", "UPDATE ON crh_schema"] {
        let name = trigger.replace(' ', "_");
        let full = "SELECT RAISE(ABORT, 'database or disk is full')";
        let sql = format!("CREATE TRIGGER {name} BEFORE {trigger} BEGIN {full}; END");
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&pool).await.unwrap();
    }
    let second = push("acme/shop", 13, HEAD, 1);
    assert_eq!(server.deliver("pull_request", "d-2", &second).await, 503);
    let reason = "the database is not available: database or disk is full";
    assert!(server.get("/", "").await.1.contains(&format!("crh cannot store anything: {reason}")));
    assert!(server.get("/metrics", "").await.1.contains("crh_database_write_failed 1"));
    let readyz = async |expected: u16| {
        let reached = async {
            loop {
                let (status, text, _) = server.get("/readyz", "").await;
                if status == expected {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reached).await.unwrap()
    };
    assert_eq!(readyz(503).await, format!("{reason}\n"));
    for name in ["INSERT_ON_jobs", "UPDATE_ON_crh_schema"] {
        let sql = format!("DROP TRIGGER {name}");
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&pool).await.unwrap();
    }
    // The forge sends the delivery again, and the page is as before.
    assert_eq!(server.deliver("pull_request", "d-2", &second).await, 202);
    readyz(200).await;
    assert!(!server.get("/", "").await.1.contains("cannot store"));
    assert_eq!(server.jobs().await.len(), 2);
    server.stop().await;
}
