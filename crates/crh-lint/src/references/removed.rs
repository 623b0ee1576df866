//! What the files of the change have lost: names, modules, and parameters that calls relied on.

use std::collections::BTreeSet;

use super::reason::{Family, Reason};
use super::world::{World, folder};
use crate::ChangedFile;
use crh_review::finding::Side;
use crh_syntax::{Shape, Surface};

/// Something that was there before the change and is not any more.
#[derive(Debug, Clone)]
pub(super) struct Lost<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) family: Family,
    /// Where it stood before.
    pub(super) path: &'a str,
    /// The name; for a module, how its users end its path.
    pub(super) name: String,
    /// The type or module around it in the same file; mostly empty.
    pub(super) within: String,
    /// Its line before, 1-based.
    pub(super) line: u32,
    pub(super) what: What,
}

/// What was lost.
#[derive(Debug, Clone)]
pub(super) enum What {
    Name,
    /// The whole file.
    Module,
    /// The way it was called; the line is that of the definition after the change.
    Shape {
        before: Shape,
        after: Shape,
        line: u32,
    },
}

impl Lost<'_> {
    /// The word that users of it cannot do without.
    pub(super) fn word(&self) -> String {
        match self.name.as_str() {
            "default" if self.family == Family::Script => stem(self.path),
            // Others import the folder of a Go file.
            _ if self.family == Family::Go && matches!(self.what, What::Module) => {
                folder(self.path).rsplit('/').next().unwrap_or_default().to_owned()
            }
            // What a Ruby method ends with is no part of a word.
            name if self.family == Family::Ruby => name.trim_end_matches(['?', '!']).to_owned(),
            name => name.to_owned(),
        }
    }
}

/// What the files have lost.
pub(super) fn lost<'a>(world: &World<'_>, reasons: &[Reason<'a>]) -> Vec<Lost<'a>> {
    let lost = reasons.iter().filter(|it| it.may_lose).flat_map(|it| of_file(world, it));
    // A Go package is one thing, of however many files.
    let mut packages = BTreeSet::new();
    lost.filter(|it| {
        it.family != Family::Go
            || !matches!(it.what, What::Module)
            || packages.insert(folder(it.path))
    })
    .collect()
}

fn of_file<'a>(world: &World<'_>, reason: &Reason<'a>) -> Vec<Lost<'a>> {
    let Some(path) = reason.file.before.as_deref() else { return Vec::new() };
    let Some(before) = world.unit(Side::Old, path) else { return Vec::new() };
    let lost = |name: &str, within: &str, line, what| Lost {
        file: reason.file,
        family: reason.family,
        path,
        name: name.to_owned(),
        within: within.to_owned(),
        line,
        what,
    };
    let mut list = Vec::new();
    let stays = !reason.file.is_deleted && reason.file.path == path;
    if !stays {
        list.push(lost(&stem(path), "", 1, What::Module));
    }
    let after = world.unit(Side::New, &reason.file.path);
    let after = match (&after, reason.file.is_deleted) {
        (Some(after), false) => Some(&after.surface),
        (None, false) => return list,
        (_, true) => None,
    };
    if before.surface.has_errors || after.is_some_and(|it| it.has_errors) {
        return list;
    }
    for offer in &before.surface.offers {
        let same = |it: &&crh_syntax::Offer| it.name == offer.name && it.within == offer.within;
        let kept = after
            .into_iter()
            .flat_map(|it| &it.offers)
            .find(|it| same(it) && it.is_exported >= offer.is_exported);
        if kept.is_none() {
            list.push(lost(&offer.name, &offer.within, offer.line, What::Name));
            continue;
        }
        let (Some(kept), Some(after)) = (kept, after) else { continue };
        if let (Some(old), Some(new)) = (&offer.shape, &kept.shape)
            && old != new
            && is_one(&before.surface, offer)
            && is_one(after, kept)
        {
            let what = What::Shape { before: old.clone(), after: new.clone(), line: kept.line };
            list.push(lost(&offer.name, &offer.within, offer.line, what));
        }
    }
    list.dedup_by(|a, b| {
        a.name == b.name
            && a.within == b.within
            && matches!((&a.what, &b.what), (What::Name, What::Name))
    });
    list
}

/// Whether nothing else in the file has that name.
fn is_one(surface: &Surface, offer: &crh_syntax::Offer) -> bool {
    let same = |it: &&crh_syntax::Offer| {
        it.name == offer.name && it.within == offer.within && it.is_exported == offer.is_exported
    };
    surface.offers.iter().filter(same).count() == 1
}

/// How users of a module end its path: the file's name, or the folder's if the file stands for that.
pub(super) fn stem(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    match stem {
        "__init__" | "index" | "mod" => folder.rsplit('/').next().unwrap_or(folder).to_owned(),
        stem => stem.to_owned(),
    }
}
