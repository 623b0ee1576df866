# A menu over the commands that `.ci/run` and the documents name.

# Everything that has to pass before a change lands.
check:
    bash .ci/run

# The tests alone.
test:
    cargo test --workspace

# Format, and apply what clippy can.
fix:
    cargo fmt --all
    cargo clippy --workspace --all-targets --fix --allow-dirty

# Rewrite snapshots; read the diff afterwards.
update:
    UPDATE_EXPECT=1 cargo test --workspace

# Ratios against git, measured in one run.
bench:
    cargo bench --workspace
