//! Uploads the report to code scanning: SARIF, compressed and encoded, in one request.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use thiserror::Error;

use crate::ForgeError;
use crate::forges::github::GitHubClient;
use crate::posting::{ForgeRequest, ReviewPosting, Verb, mask_report};
use crh_review::{render, stable_json};

/// Largest compressed upload that GitHub accepts, in bytes.
const UPLOAD_MAX: usize = 10 << 20;

/// Why an upload to code scanning failed.
#[derive(Debug, Error)]
pub enum SarifUploadError {
    /// Serialising to SARIF failed.
    #[error("cannot convert the report to SARIF")]
    Serialize(#[from] serde_json::Error),
    /// Compression failed.
    #[error("cannot compress the SARIF")]
    Compress(#[from] std::io::Error),
    /// Too large.
    #[error("the compressed SARIF has {0} bytes; GitHub accepts {UPLOAD_MAX}")]
    TooLarge(usize),
    /// The request failed.
    #[error(transparent)]
    Forge(#[from] ForgeError),
}

/// The upload request. The same report gives the same request.
pub fn sarif_upload(posting: &ReviewPosting<'_>) -> Result<ForgeRequest, SarifUploadError> {
    // `find_refusal` already rejected reports that cannot be masked.
    let report = mask_report(posting.report, posting.mask).unwrap_or_default();
    let mut sarif: Value = serde_json::from_str(&render::sarif(&report)?)?;
    // The part before the slash is the category. An upload replaces earlier uploads of the same
    // category, so each installation has its own category.
    let id = format!("{}/{}", posting.instance, report.review_id);
    sarif["runs"][0]["automationDetails"] = json!({ "id": id });
    let text = stable_json(&sarif)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    let compressed = encoder.finish()?;
    if compressed.len() > UPLOAD_MAX {
        return Err(SarifUploadError::TooLarge(compressed.len()));
    }
    let change = &report.change;
    Ok(ForgeRequest {
        verb: Verb::Post,
        path: format!("/repos/{}/code-scanning/sarifs", change.repo),
        body: json!({
            "commit_sha": change.head_sha,
            "ref": format!("refs/pull/{}/head", change.pr_number),
            "sarif": STANDARD.encode(compressed),
        }),
    })
}

/// Uploads a report to code scanning. A second upload replaces the first.
pub async fn post_sarif(
    client: &GitHubClient,
    posting: &ReviewPosting<'_>,
) -> Result<(), SarifUploadError> {
    let request = sarif_upload(posting)?;
    client.write(request.verb, &request.path, &request.body).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::posting::tests_support::ReviewFixture;

    #[test]
    fn upload_contains_the_report_as_sarif() {
        let mut review = ReviewFixture::new(&[10]);
        review.report.issues[0].why_it_matters = "hunter2".to_owned();
        let request = sarif_upload(&review.posting()).unwrap();
        assert_eq!(request, sarif_upload(&review.posting()).unwrap());
        assert_eq!(request.body["ref"], "refs/pull/7/head");
        let packed = STANDARD.decode(request.body["sarif"].as_str().unwrap()).unwrap();
        let mut text = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
        assert!(text.contains("Trouble 10") && !text.contains("hunter2"), "{text}");
        let sarif: Value = serde_json::from_str(&text).unwrap();
        let id = sarif["runs"][0]["automationDetails"]["id"].as_str().unwrap();
        assert_eq!(id, "crh/0123456789abcdef");
    }
}
