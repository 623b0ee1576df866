//! What the webhooks of each forge mean.

mod gitea;
mod gitlab;
