-- What became of the posted issues of a pull request, for the page.
CREATE TABLE outcomes (
    forge TEXT NOT NULL,
    repository TEXT NOT NULL,
    change_id TEXT NOT NULL,
    issue_key TEXT NOT NULL,
    severity TEXT NOT NULL,
    category TEXT NOT NULL,
    month TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reception TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (forge, repository, change_id, issue_key)
);
