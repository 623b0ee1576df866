//! Templates of the page. Their names end in `.html`, because minijinja escapes values in such
//! templates.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;

/// Style sheet of all pages.
pub const STYLE_SHEET: &str = include_str!("assets/page.css");

/// Script that loads the page again when the queue changes.
pub const SCRIPT: &str = include_str!("assets/live.js");

const TEMPLATES: [(&str, &str); 11] = [
    ("base.html", include_str!("templates/base.html")),
    ("overview.html", include_str!("templates/overview.html")),
    ("reviews.html", include_str!("templates/reviews.html")),
    ("review.html", include_str!("templates/review.html")),
    ("repositories.html", include_str!("templates/repositories.html")),
    ("repository.html", include_str!("templates/repository.html")),
    ("job.html", include_str!("templates/job.html")),
    ("audit.html", include_str!("templates/audit.html")),
    ("agents.html", include_str!("templates/agents.html")),
    ("message.html", include_str!("templates/message.html")),
    ("sign-in.html", include_str!("templates/sign-in.html")),
];

/// All templates.
#[derive(Debug)]
pub struct PageTemplates {
    environment: Environment<'static>,
}

impl PageTemplates {
    /// Reads the templates.
    pub fn new() -> Result<Self, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, text) in TEMPLATES {
            environment.add_template(name, text)?;
        }
        Ok(Self { environment })
    }

    /// Renders a page.
    pub fn render(&self, name: &str, values: &Value) -> Result<String, minijinja::Error> {
        self.environment.get_template(name)?.render(Serde(values))
    }
}
