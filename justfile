# Short names for common commands.

# Run everything that must pass before a change lands.
check:
    bash .ci/run

# Run the tests.
test:
    cargo test --workspace

# Format, and apply clippy's suggestions.
fix:
    cargo fmt --all
    cargo clippy --workspace --all-targets --fix --allow-dirty

# Rewrite snapshots; read the diff afterwards.
update:
    UPDATE_EXPECT=1 cargo test --workspace

# Print speed ratios against git, measured in one run.
bench:
    cargo bench --workspace
