//! The report as SARIF for GitHub's code scanning: compressed, encoded, and sent as one request.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use thiserror::Error;

use super::Posting;
use super::request::Request;
use crate::ForgeError;
use crate::github::{Client, Verb};
use crate::posted::masked;
use crh_review::{render, stable_json};

/// How large the compressed form may be: GitHub takes no more.
const UPLOAD_MAX: usize = 10 << 20;

/// Why a report cannot be sent to code scanning.
#[derive(Debug, Error)]
pub enum SarifError {
    /// It cannot be written as SARIF.
    #[error("the report cannot be written as SARIF")]
    Written(#[from] serde_json::Error),
    /// It cannot be compressed.
    #[error("the SARIF cannot be compressed")]
    Compressed(#[from] std::io::Error),
    /// It is too large.
    #[error("the SARIF has {0} bytes when compressed, and GitHub takes {UPLOAD_MAX}")]
    TooLarge(usize),
    /// GitHub did not take it.
    #[error(transparent)]
    Forge(#[from] ForgeError),
}

/// The request that sends a report to code scanning. The same report is the same bytes.
pub fn sarif_upload(posting: &Posting<'_>) -> Result<Request, SarifError> {
    // One that cannot be masked is refused before.
    let report = masked(posting.report, posting.mask).unwrap_or_default();
    let mut sarif: Value = serde_json::from_str(&render::sarif(&report)?)?;
    // What is before the slash is the category: a later upload of it takes the place of an earlier one. Two installations
    // do not take each other's.
    let id = format!("{}/{}", posting.instance, report.review_id);
    sarif["runs"][0]["automationDetails"] = json!({ "id": id });
    let text = stable_json(&sarif)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes())?;
    let packed = packed.finish()?;
    if packed.len() > UPLOAD_MAX {
        return Err(SarifError::TooLarge(packed.len()));
    }
    let change = &report.change;
    Ok(Request {
        verb: Verb::Post,
        path: format!("/repos/{}/code-scanning/sarifs", change.repo),
        body: json!({
            "commit_sha": change.head_sha,
            "ref": format!("refs/pull/{}/head", change.pr_number),
            "sarif": STANDARD.encode(packed),
        }),
    })
}

/// Sends a report to code scanning. A second time replaces what was sent the first time.
pub async fn post_sarif(client: &Client, posting: &Posting<'_>) -> Result<(), SarifError> {
    let request = sarif_upload(posting)?;
    client.write(request.verb, &request.path, &request.body).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::super::tests_support::Review;
    use super::*;

    #[test]
    fn what_is_sent_is_the_report_as_sarif() {
        let mut review = Review::new(&[10]);
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
