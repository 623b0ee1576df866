//! Posts a review to a pull request: with the posting engine, or as a check run or alerts.

use super::session::post_failure;
use super::{GitHubSession, to_failure};
use crate::commands::forge::posting::{PostRequest, PostResult};
use crate::failure::{Failure, FailureKind};
use crate::ui;
use crh_forge::github::PullRequestRef;
use crh_forge::github::post::{GitHubPoster, SarifUploadError, StatusChannel};
use crh_forge::posting::{PostingWrite, send_withdrawal};
use crh_pipeline::sinks::PostKind;

impl GitHubSession {
    /// Withdraws an approval by crh.
    pub(crate) fn withdraw(
        &self,
        pull_ref: &PullRequestRef,
        write: &PostingWrite,
    ) -> Result<(), String> {
        let poster = GitHubPoster { client: &self.client, pull_ref };
        self.runtime.block_on(send_withdrawal(&poster, write))
    }

    /// Posts a review, or returns the requests of a dry run.
    pub(crate) fn post(
        &self,
        pull_ref: &PullRequestRef,
        request: &PostRequest<'_>,
    ) -> Result<PostResult, Failure> {
        let channel = match request.kind {
            PostKind::Review | PostKind::Comment => None,
            PostKind::CheckRun => Some(StatusChannel::CheckRun),
            PostKind::CodeScanning => Some(StatusChannel::CodeScanning),
        };
        let web = pull_ref.host.server();
        let result = match (channel, request.nothing_new()) {
            (_, Some(result)) => return Ok(result),
            (Some(channel), None) if request.flags.dry_run => {
                return self.channel_dry_run(pull_ref, request, channel);
            }
            (Some(channel), None) => request
                .with_posting(web, |posting| self.post_to_channel(pull_ref, posting, channel))
                .map(PostResult::Done),
            (None, None) => {
                let poster = GitHubPoster { client: &self.client, pull_ref };
                request.post(&poster, web, &self.runtime)
            }
        };
        if !request.flags.dry_run {
            ui::detail(&self.rate_limit_message());
        }
        result.map_err(|error| match request.flags.dry_run {
            true => to_failure(error),
            false => post_failure(error, request.kind),
        })
    }

    fn channel_dry_run(
        &self,
        pull_ref: &PullRequestRef,
        request: &PostRequest<'_>,
        channel: StatusChannel,
    ) -> Result<PostResult, Failure> {
        let requests = request.with_posting(pull_ref.host.server(), |posting| {
            self.plan_for_channel(pull_ref, posting, channel)
        });
        let requests = requests.map_err(|error| match error {
            SarifUploadError::Forge(error) => to_failure(error),
            SarifUploadError::Serialize(_) | SarifUploadError::Compress(_) => {
                Failure::new(FailureKind::Bug, error)
            }
            SarifUploadError::TooLarge(_) => Failure::new(FailureKind::External, error),
        })?;
        Ok(PostResult::dry_run(requests))
    }
}
