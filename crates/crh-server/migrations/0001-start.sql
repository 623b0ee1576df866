-- One text for SQLite and PostgreSQL. `{serial}` stands for the type of a numbered primary key.
-- Times are milliseconds since 1970 UTC, days are days since 1970 UTC, money is in millionths of a US dollar.

CREATE TABLE jobs (
    id {serial},
    forge TEXT NOT NULL,
    repository TEXT NOT NULL,
    change_id TEXT NOT NULL,
    head TEXT NOT NULL,
    kind TEXT NOT NULL,
    installation BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    origin TEXT NOT NULL,
    payload TEXT NOT NULL,
    revision BIGINT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    owner TEXT NOT NULL,
    token BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    stop TEXT NOT NULL,
    step TEXT NOT NULL,
    UNIQUE (forge, repository, change_id, head, kind)
);

-- Partial indexes: a claim reads only these, so its cost does not grow with the number of ended jobs.
CREATE INDEX jobs_waiting ON jobs (priority, run_at, id) WHERE state = 'waiting';
CREATE INDEX jobs_running ON jobs (lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX jobs_one_running ON jobs (forge, repository, change_id, kind) WHERE state = 'running';
CREATE INDEX jobs_dead ON jobs (id) WHERE state = 'dead';
CREATE INDEX jobs_ended ON jobs (changed_at) WHERE state IN ('done', 'superseded', 'cancelled', 'skipped');

CREATE TABLE deliveries (
    forge TEXT NOT NULL,
    id TEXT NOT NULL,
    event TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (forge, id)
);
CREATE INDEX deliveries_received ON deliveries (received_at);

CREATE TABLE installations (
    forge TEXT NOT NULL,
    id BIGINT NOT NULL,
    account TEXT NOT NULL,
    suspended BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (forge, id)
);

CREATE TABLE repositories (
    forge TEXT NOT NULL,
    name TEXT NOT NULL,
    installation BIGINT NOT NULL,
    private BIGINT NOT NULL,
    settings TEXT NOT NULL,
    PRIMARY KEY (forge, name)
);
CREATE INDEX repositories_installation ON repositories (forge, installation);

CREATE TABLE pauses (
    forge TEXT NOT NULL,
    repository TEXT NOT NULL,
    change_id TEXT NOT NULL,
    who TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (forge, repository, change_id)
);

CREATE TABLE reviews (
    id {serial},
    job BIGINT NOT NULL,
    forge TEXT NOT NULL,
    repository TEXT NOT NULL,
    change_id TEXT NOT NULL,
    head TEXT NOT NULL,
    installation BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    issues_shown BIGINT NOT NULL,
    issues_dismissed BIGINT NOT NULL,
    issues_fixed BIGINT NOT NULL,
    micro_usd BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    folder TEXT NOT NULL,
    worker TEXT NOT NULL,
    posted BIGINT NOT NULL
);
CREATE INDEX reviews_repository ON reviews (forge, repository, ended_at);
CREATE INDEX reviews_ended ON reviews (ended_at);

-- Keys of the issues in the last review of a pull request, as a JSON array.
CREATE TABLE last_issues (
    forge TEXT NOT NULL,
    repository TEXT NOT NULL,
    change_id TEXT NOT NULL,
    issue_keys TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (forge, repository, change_id)
);

CREATE TABLE spending (
    forge TEXT NOT NULL,
    installation BIGINT NOT NULL,
    repository TEXT NOT NULL,
    day BIGINT NOT NULL,
    micro_usd BIGINT NOT NULL,
    reviews BIGINT NOT NULL,
    PRIMARY KEY (forge, installation, repository, day)
);

CREATE TABLE reservations (
    id {serial},
    job BIGINT NOT NULL,
    forge TEXT NOT NULL,
    installation BIGINT NOT NULL,
    repository TEXT NOT NULL,
    day BIGINT NOT NULL,
    micro_usd BIGINT NOT NULL,
    settled BIGINT NOT NULL
);
CREATE INDEX reservations_job ON reservations (job, day);

CREATE TABLE workers (
    name TEXT NOT NULL PRIMARY KEY,
    version TEXT NOT NULL,
    slots BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);

CREATE TABLE audit (
    id {serial},
    at BIGINT NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_at ON audit (at);
