-- Comments that crh answers, so that no conversation goes on without end.
CREATE TABLE answers (
    forge TEXT NOT NULL,
    repository TEXT NOT NULL,
    change_id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    comment TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (forge, repository, change_id, conversation, comment)
);
