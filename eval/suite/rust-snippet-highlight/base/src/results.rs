//! Selects the places for a query and renders them as HTML list items.

use crate::highlight::pieces;

pub struct Place {
    pub name: String,
    pub country: String,
}

/// All places whose name contains the query, in the order of `places`.
pub fn find<'a>(places: &'a [Place], query: &str) -> Vec<&'a Place> {
    places.iter().filter(|p| p.name.contains(query)).collect()
}

/// One `<li>` for a place, with the matches of `query` in `<mark>`.
pub fn render(place: &Place, query: &str) -> String {
    let mut html = String::from("<li>");
    for piece in pieces(&place.name, query) {
        if piece.hit {
            html.push_str("<mark>");
            escape_into(&mut html, piece.text);
            html.push_str("</mark>");
        } else {
            escape_into(&mut html, piece.text);
        }
    }
    html.push_str(", ");
    escape_into(&mut html, &place.country);
    html.push_str("</li>");
    html
}

fn escape_into(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            _ => html.push(c),
        }
    }
}
