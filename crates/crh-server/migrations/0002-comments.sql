-- Issues that people dismissed in comments, or that crh withdrew. Workers give them to every review of the repository.
CREATE TABLE dismissals (
    forge TEXT NOT NULL,
    repository TEXT NOT NULL,
    issue_key TEXT NOT NULL,
    reason TEXT NOT NULL,
    who TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (forge, repository, issue_key)
);

-- Reports as JSON, so that every worker can explain and fix the issues of a review.
CREATE TABLE reports (
    review BIGINT NOT NULL PRIMARY KEY,
    content TEXT NOT NULL
);
