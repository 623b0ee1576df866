-- Tokens of coding agents. The token itself is not here: only its hash, and the person's GitHub token encrypted with it.
CREATE TABLE agent_tokens (
    id {serial},
    hash TEXT NOT NULL UNIQUE,
    who TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
