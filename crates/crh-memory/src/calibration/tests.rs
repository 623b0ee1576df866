use super::*;

/// Labels in which one reviewer is mostly right and another mostly wrong, while severity misleads.
fn labels(reviews: usize) -> Vec<LabelledIssue> {
    let mut labels = Vec::new();
    for review in 0..reviews {
        for index in 0..8 {
            let is_good = index % 2 == 0;
            // One in eight labels is against the rule.
            let is_odd = (review * 8 + index) % 8 == 3;
            let severity = if is_good { Severity::P2 } else { Severity::P1 };
            let confidence = Confidence::thousandths(700);
            let reviewers = [if is_good { "careful" } else { "hasty" }.to_owned()];
            let features =
                common_features(severity, None, &reviewers, confidence, "src/a.rs", "model");
            labels.push(LabelledIssue {
                group: format!("review {review}"),
                features,
                severity,
                confidence,
                is_positive: is_good != is_odd,
            });
        }
    }
    labels
}

#[test]
fn fit_finds_the_feature_that_decides() {
    let labels = labels(40);
    let weights = fit(&labels);
    let [good, bad] = [0, 1].map(|index| weights.predict(&labels[index].features));
    assert!(good > 0.9 && bad < 0.35, "{good} {bad}");
    assert_eq!(weights, fit(&labels), "fits are deterministic");
    let json = serde_json::to_string(&weights).unwrap();
    assert_eq!(Weights::parse(&json), Some(weights));
}

#[test]
fn informative_labels_make_calibration_usable() {
    let report = cross_validate(&labels(40));
    assert_eq!(report.reasons_against, Vec::<String>::new(), "{}", report.to_text());
    assert_eq!((report.labels, report.reviews), (320, 40));
    let (new, old) =
        (report.f1_by_probability.value.unwrap(), report.f1_by_severity.value.unwrap());
    assert!(new > old + 0.3, "{new} {old}");
}

#[test]
fn few_or_random_labels_leave_calibration_off() {
    let few = cross_validate(&labels(20));
    assert_eq!(few.reasons_against, ["160 labels, fewer than 200"]);
    let mut random = labels(40);
    for (index, label) in random.iter_mut().enumerate() {
        label.is_positive =
            content_id(index.to_string().as_bytes()).as_bytes()[0].is_multiple_of(2);
    }
    let report = cross_validate(&random);
    let no_gain = "the confidence interval of the F1 gain is not above zero".to_owned();
    assert!(report.reasons_against.contains(&no_gain), "{}", report.to_text());
    assert_eq!(cross_validate(&[]).reasons_against.len(), 3);
}

#[test]
fn damaged_weights_are_not_used() {
    for text in [
        "",
        "{}",
        r#"{"version": 2, "labels": 300, "weights": {}}"#,
        r#"{"version": 1, "labels": 100, "weights": {}}"#,
        r#"{"version": 1, "labels": 300, "weights": {"bias": null}}"#,
    ] {
        assert_eq!(Weights::parse(text), None, "{text}");
    }
}

#[test]
fn file_kinds_follow_names() {
    for (file, kind) in [
        ("src/a.rs", "code"),
        ("tests/a.rs", "test"),
        ("a_test.go", "test"),
        ("README.md", "docs"),
        ("Cargo.toml", "configuration"),
        ("src/contest.rs", "code"),
    ] {
        assert_eq!(file_kind(file), kind, "{file}");
    }
}
