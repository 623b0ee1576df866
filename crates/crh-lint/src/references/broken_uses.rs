//! Where the rest of the repository still goes by what was lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::crates::Makers;
use super::globals::is_global;
use super::ignored::is_ignored;
use super::lost::{Lost, What, lost};
use super::missing::missing;
use super::modules::{Met, Module, met, module, offered};
use super::reason::{Family, Reason, is_foreign};
use super::world::{Unit, World};
use super::{classes, constants, crates, package, say};
use crate::found::Found;
use crate::{Change, ChangedFile, HitLine};
use crh_review::finding::Side;
use crh_syntax::{Surface, Take, Taken, Use, UseRole};

/// The most lines that a search for all names gives back. A name on more lines than that is no name to go by.
pub(super) const HITS_MAX: usize = 20_000;

/// A name on more lines than this is a word of the language or of the project: following it costs more than it tells.
const HITS_OF_NAME_MAX: usize = 2_000;

/// A place that breaks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Break {
    pub(super) path: String,
    pub(super) line: u32,
    pub(super) text: String,
}

/// What broke, by what was lost: its place in the list.
pub(super) type Breaks = BTreeMap<usize, BTreeSet<Break>>;

/// A file that may use what was lost.
pub(super) struct User<'a> {
    pub(super) path: &'a str,
    /// Its path before the change.
    pub(super) before: &'a str,
    pub(super) unit: Rc<Unit>,
    /// The file, if the change touches it.
    pub(super) changed: Option<&'a ChangedFile>,
}

impl User<'_> {
    pub(super) fn adds(&self, line: u32) -> bool {
        self.changed.is_some_and(|it| it.adds(line))
    }

    pub(super) fn breaks(&self, line: u32) -> Break {
        Break { path: self.path.to_owned(), line, text: self.unit.line(line).to_owned() }
    }

    /// Whether a name means nothing else anywhere in the file than what was imported by it.
    pub(super) fn is_unbound(&self, name: &str) -> bool {
        let first = name.split(['.', ':']).next().unwrap_or(name);
        let names = |it: &&Use| it.name == first && it.of.is_empty() && it.role == UseRole::Bound;
        !self.unit.uses.iter().any(|it| names(&it))
    }
}

/// Finds everything that breaks.
pub(super) fn broken(
    change: &Change<'_>,
    world: &World<'_>,
    reasons: &[Reason<'_>],
    found: &mut Vec<Found>,
) -> Result<(), String> {
    let lost = lost(world, reasons);
    let changed: HashMap<&str, &ChangedFile> =
        change.all.iter().filter(|it| !it.is_deleted).map(|it| (it.path.as_str(), it)).collect();
    if !lost.is_empty() {
        let (hits, names) = hits(world, &lost)?;
        let wanted = lost.iter().filter(|it| names.contains(&it.word())).map(|it| it.name.clone());
        world.look_for(wanted.collect());
        let kept: Vec<usize> =
            (0..lost.len()).filter(|at| names.contains(&lost[*at].word())).collect();
        let mut breaks = Breaks::new();
        for path in &hits {
            let Some(family) = Family::of(path) else { continue };
            if is_foreign(path) {
                continue;
            }
            let relevant: Vec<usize> =
                kept.iter().copied().filter(|at| lost[*at].family == family).collect();
            if relevant.is_empty() {
                continue;
            }
            let Some(unit) = world.unit(Side::New, path) else { continue };
            if unit.surface.has_errors {
                continue;
            }
            let changed = changed.get(path.as_str()).copied();
            let before = changed.map_or(Some(path.as_str()), |it| it.before.as_deref());
            let user = User { path, before: before.unwrap_or(path), unit, changed };
            let breaking = Breaking {
                world,
                lost: &lost,
                relevant: &relevant,
                user: &user,
                family,
                hits: &hits,
            };
            breaking.all(&mut breaks);
        }
        for (at, places) in breaks {
            found.push(say::broken(world, &changed, &lost[at], &places));
        }
    }
    for reason in reasons.iter().filter(|it| {
        it.may_miss || it.file.before.as_deref().is_some_and(|before| before != it.file.path)
    }) {
        missing(world, reason, found);
    }
    Ok(())
}

/// The files that contain one of the names, and the names that can be followed.
fn hits(
    world: &World<'_>,
    lost: &[Lost<'_>],
) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
    let mut names: BTreeSet<String> =
        lost.iter().map(Lost::word).filter(|it| !it.is_empty()).collect();
    let search = |names: &BTreeSet<String>| {
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        world.project.search(Side::New, &words, HITS_MAX)
    };
    let mut hits = search(&names)?;
    for name in too_common(&hits.lines, &names) {
        names.remove(&name);
    }
    if !hits.is_all {
        hits = search(&names)?;
    }
    if !hits.is_all {
        return Err("the names that were taken away are in too many places".to_owned());
    }
    Ok((hits.lines.into_iter().map(|it| it.path).collect(), names))
}

/// Names that are on too many lines to be followed.
fn too_common(lines: &[HitLine], names: &BTreeSet<String>) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        for word in line.text.split(|it: char| !(it.is_alphanumeric() || it == '_')) {
            if let Some(name) = names.get(word) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let common = counts.into_iter().filter(|(_, count)| *count > HITS_OF_NAME_MAX);
    common.map(|(name, _)| name.to_owned()).collect()
}

/// One file, and what it may still use.
struct Breaking<'w, 'a> {
    world: &'w World<'w>,
    lost: &'w [Lost<'a>],
    relevant: &'w [usize],
    user: &'w User<'w>,
    family: Family,
    /// All files that have one of the names.
    hits: &'w BTreeSet<String>,
}

impl Breaking<'_, '_> {
    fn all(&self, breaks: &mut Breaks) {
        match self.family {
            Family::Python | Family::Script => {
                for take in self.user.unit.surface.takes.iter().filter(|it| !it.is_guarded) {
                    self.import(take, breaks);
                    self.members(take, breaks);
                    self.calls(take, breaks);
                }
                self.own(breaks);
            }
            Family::Go => {
                for at in self.relevant {
                    let places = package::breaks(self.world, &self.lost[*at], self.user);
                    if !places.is_empty() {
                        breaks.entry(*at).or_default().extend(places);
                    }
                }
            }
            Family::Rust if !crates::is_built(self.world, self.user.path) => {}
            Family::Rust => {
                for take in self.user.unit.surface.takes.iter().filter(|it| !it.is_guarded) {
                    self.import(take, breaks);
                    self.calls(take, breaks);
                }
                self.paths(breaks);
                self.own(breaks);
            }
            Family::Java | Family::Ruby => {
                for take in self.user.unit.surface.takes.iter().filter(|it| !it.is_guarded) {
                    self.import(take, breaks);
                }
                for at in self.relevant {
                    let lost = &self.lost[*at];
                    let places = match self.family {
                        Family::Java => classes::breaks(self.world, lost, self.user),
                        _ => constants::breaks(self.world, lost, self.user, self.hits),
                    };
                    if !places.is_empty() {
                        breaks.entry(*at).or_default().extend(places);
                    }
                }
            }
        }
    }

    /// Rust: `a::b::name`, with or without a `use` of its beginning.
    fn paths(&self, breaks: &mut Breaks) {
        let user = self.user;
        for at in self.relevant.iter().copied() {
            let lost = &self.lost[at];
            if let Some(owner) = lost.within.strip_suffix('.') {
                self.associated(at, owner, breaks);
            }
            if !lost.within.is_empty() {
                continue;
            }
            for it in user.unit.uses.iter().filter(|it| it.name == lost.name && !it.of.is_empty()) {
                let is_broken = match (&lost.what, &it.role) {
                    (What::Name, UseRole::Read | UseRole::Called(_)) => true,
                    (What::Shape { before, after, .. }, UseRole::Called(given)) => {
                        !after.takes(given) && (before.takes(given) || user.adds(it.line))
                    }
                    _ => false,
                };
                let Some(path) = self.whole_path(it).filter(|_| is_broken) else { continue };
                let was = crates::met(self.world, Side::Old, Makers::Known, user.before, &path);
                let now = crates::met(self.world, Side::New, Makers::Known, user.path, &path);
                let is_gone = match lost.what {
                    What::Name => matches!(now, Met::NoName(_) | Met::NoModule | Met::Absent),
                    What::Shape { .. } => now == Met::In(lost.file.path.clone()),
                    What::Module => false,
                };
                if is_gone && was == Met::In(lost.path.to_owned()) {
                    breaks.entry(at).or_default().insert(user.breaks(it.line));
                }
            }
        }
    }

    /// A path from a place that is known.
    fn whole_path(&self, it: &Use) -> Option<String> {
        let first = it.of.split("::").next()?;
        if matches!(first, "crate" | "self" | "super") {
            return Some(format!("{}::{}", it.of, it.name));
        }
        let surface = &self.user.unit.surface;
        let rest = &it.of[first.len()..];
        let take = surface.takes.iter().find(|take| take.local.as_deref() == Some(first));
        if let Some(take) = take {
            let Taken::Name(name) = &take.what else { return None };
            return Some(format!("{}::{name}{rest}::{}", take.module, it.name));
        }
        let is_own = surface.offers.iter().any(|it| it.name == first && it.within.is_empty());
        let is_crate = || self.world.crates(Side::New).contains_key(first);
        if is_own {
            return Some(format!("self::{}::{}", it.of, it.name));
        }
        is_crate().then(|| format!("{}::{}", it.of, it.name))
    }

    /// Rust: `Type::name`, where the type is still there and has no such variant, function or constant any more.
    fn associated(&self, at: usize, owner: &str, breaks: &mut Breaks) {
        let (user, lost) = (self.user, &self.lost[at]);
        let is_meant = |it: &&Use| it.name == lost.name && it.of.rsplit("::").next() == Some(owner);
        let mut places = BTreeSet::new();
        for it in user.unit.uses.iter().filter(is_meant) {
            let is_broken = match (&lost.what, &it.role) {
                (What::Name, UseRole::Read | UseRole::Called(_)) => true,
                (What::Shape { before, after, .. }, UseRole::Called(given)) => {
                    !after.takes(given) && (before.takes(given) || user.adds(it.line))
                }
                _ => false,
            };
            let path = self.whole_path(it).filter(|_| is_broken);
            let path = path.as_deref().and_then(|it| it.rsplit_once("::"));
            let Some((path, _)) = path else { continue };
            let was = crates::met(self.world, Side::Old, Makers::Known, user.before, path);
            let now = crates::met(self.world, Side::New, Makers::Known, user.path, path);
            if was == Met::In(lost.path.to_owned()) && now == Met::In(lost.file.path.clone()) {
                places.insert(user.breaks(it.line));
            }
        }
        if !places.is_empty() && crates::is_nowhere_else(self.world, lost, owner, self.hits) {
            breaks.entry(at).or_default().extend(places);
        }
    }

    /// An import that found what it takes before the change, and does not any more.
    fn import(&self, take: &Take, breaks: &mut Breaks) {
        let user = self.user;
        let words = || {
            take.module.split(['.', '/', ':']).chain(match &take.what {
                Taken::Name(name) => Some(name.as_str()),
                Taken::Module | Taken::All => None,
            })
        };
        let is_relevant =
            self.relevant.iter().any(|at| words().any(|word| word == self.lost[*at].name));
        if user.adds(take.line)
            || !is_relevant && !words().any(|it| it == "default") && !words().all(str::is_empty)
        {
            return;
        }
        let now = met(self.world, Side::New, self.family, user.path, take);
        if matches!(now, Met::In(_) | Met::Unknown) {
            return;
        }
        let Met::In(was) = met(self.world, Side::Old, self.family, user.before, take) else {
            return;
        };
        let name = match &take.what {
            Taken::Name(name) => name.as_str(),
            Taken::Module | Taken::All => "",
        };
        let all = || self.relevant.iter().map(|at| (*at, &self.lost[*at]));
        // What Java imports may stand inside a class.
        let is_inside = |within: &str| {
            within.is_empty()
                || self.family == Family::Java && take.module.rsplit('.').next() == Some(within)
        };
        let names = all().filter(|(_, it)| {
            it.path == was
                && it.name == name
                && is_inside(&it.within)
                && matches!(it.what, What::Name)
        });
        let modules = all().filter(|(_, it)| it.path == was && matches!(it.what, What::Module));
        // A module that went took its names along: that is one thing to say.
        if let Some((at, lost)) = modules.chain(names).next()
            && !(self.is_away(lost.path) && is_ignored(self.world, lost.path))
        {
            breaks.entry(at).or_default().insert(user.breaks(take.line));
        }
    }

    /// Whether the repository has no such file any more. A file that it has is in it, whatever git is told about others like it.
    fn is_away(&self, path: &str) -> bool {
        self.world.index(Side::New).is_ok_and(|index| !index.has(path))
    }

    /// The module that a take makes reachable by its local name, if it is a whole one.
    fn namespace(&self, side: Side, take: &Take) -> Option<String> {
        let index = self.world.index(side).ok()?;
        let from = match side {
            Side::Old => self.user.before,
            Side::New => self.user.path,
        };
        let path = match (&take.what, self.family) {
            (Taken::Module, _) => take.module.clone(),
            (Taken::Name(name), Family::Python) if take.module.ends_with('.') => {
                format!("{}{name}", take.module)
            }
            (Taken::Name(name), Family::Python) => format!("{}.{name}", take.module),
            (Taken::Name(_) | Taken::All, _) => return None,
        };
        match module(index, self.family, from, &path) {
            Module::File(path) => Some(path),
            Module::Missing | Module::Absent | Module::Folder | Module::Unknown => None,
        }
    }

    /// `module.name`, where the name is gone, or takes other arguments.
    fn members(&self, take: &Take, breaks: &mut Breaks) {
        let user = self.user;
        let Some(local) = take.local.as_deref() else { return };
        let is_member = |it: &&Use| it.of == local;
        if !user.unit.uses.iter().any(|it| is_member(&it)) || !user.is_unbound(local) {
            return;
        }
        let Some(now) = self.namespace(Side::New, take) else { return };
        for at in self.relevant.iter().copied() {
            let lost = &self.lost[at];
            if lost.file.path != now || lost.file.is_deleted || !lost.within.is_empty() {
                continue;
            }
            let uses = || user.unit.uses.iter().filter(|it| it.name == lost.name && is_member(it));
            if uses().any(|it| it.role == UseRole::Written) {
                continue;
            }
            let is_broken = |it: &&Use| match (&lost.what, &it.role) {
                (What::Name, UseRole::Read | UseRole::Called(_)) => true,
                (What::Shape { before, after, .. }, UseRole::Called(given)) => {
                    !after.takes(given) && (before.takes(given) || user.adds(it.line))
                }
                _ => false,
            };
            let places: BTreeSet<Break> =
                uses().filter(is_broken).map(|it| user.breaks(it.line)).collect();
            if places.is_empty() {
                continue;
            }
            let is_gone = match lost.what {
                What::Name => {
                    matches!(
                        offered(self.world, Side::New, self.family, &now, &lost.name),
                        Met::NoName(_)
                    ) && !self.is_below(&now, &lost.name)
                }
                What::Module => false,
                What::Shape { .. } => true,
            };
            if is_gone {
                breaks.entry(at).or_default().extend(places);
            }
        }
    }

    /// Whether a name is a module in the folder of a package.
    fn is_below(&self, package: &str, name: &str) -> bool {
        let Ok(index) = self.world.index(Side::New) else { return true };
        let below = super::world::below(super::world::folder(package), name);
        index.folders.contains(&below) || index.has(&format!("{below}.py"))
    }

    /// Calls of what was imported by name.
    fn calls(&self, take: &Take, breaks: &mut Breaks) {
        let (Taken::Name(name), Some(local)) = (&take.what, take.local.as_deref()) else { return };
        let is_shape = |at: &&usize| {
            self.lost[**at].name == *name && matches!(self.lost[**at].what, What::Shape { .. })
        };
        if !self.relevant.iter().any(|at| is_shape(&at)) || !self.user.is_unbound(local) {
            return;
        }
        let Met::In(now) = met(self.world, Side::New, self.family, self.user.path, take) else {
            return;
        };
        let taken =
            self.user.unit.surface.takes.iter().filter(|it| it.local.as_deref() == Some(local));
        if taken.count() > 1 {
            return;
        }
        for at in self.relevant.iter().filter(is_shape) {
            if self.lost[*at].file.path == now {
                let places = self.misfits(&self.lost[*at], local);
                if !places.is_empty() {
                    breaks.entry(*at).or_default().extend(places);
                }
            }
        }
    }

    fn misfits(&self, lost: &Lost<'_>, local: &str) -> BTreeSet<Break> {
        let What::Shape { before, after, .. } = &lost.what else { return BTreeSet::new() };
        let calls = self.user.unit.uses.iter().filter(|it| it.name == local && it.of.is_empty());
        calls
            .filter(|it| match &it.role {
                UseRole::Called(given) => {
                    !after.takes(given) && (before.takes(given) || self.user.adds(it.line))
                }
                UseRole::Bound
                | UseRole::Key
                | UseRole::Taken
                | UseRole::Written
                | UseRole::Read => false,
            })
            .map(|it| self.user.breaks(it.line))
            .collect()
    }

    /// Whether another script has a name for all, as those do that are no modules.
    fn may_be_shared(&self, name: &str) -> bool {
        let is_module = |surface: &Surface| {
            !surface.takes.is_empty() || surface.offers.iter().any(|it| it.is_exported)
        };
        let has = |path: &&String| {
            Family::of(path) == Some(Family::Script)
                && self.world.unit(Side::New, path).is_some_and(|unit| {
                    unit.surface.offers.iter().any(|it| it.name == name)
                        && !is_module(&unit.surface)
                })
        };
        !is_module(&self.user.unit.surface) && self.hits.iter().any(|it| has(&it))
    }

    /// Uses in the very file that lost the name.
    fn own(&self, breaks: &mut Breaks) {
        let (user, surface) = (self.user, &self.user.unit.surface);
        let is_open = surface.is_open
            && (self.family != Family::Rust || !crates::makes_the_same(self.world, user.path));
        if is_open
            || surface.takes.iter().any(|it| it.what == Taken::All && self.family != Family::Script)
        {
            return;
        }
        for at in self.relevant.iter().copied() {
            let lost = &self.lost[at];
            if lost.file.path != user.path
                || lost.file.is_deleted
                || lost.path != user.before
                || is_global(self.family, &lost.name)
                || lost.within.ends_with('.')
                || self.family == Family::Rust && crates::may_be_outside(self.world, lost)
                || self.family == Family::Script && self.may_be_shared(&lost.name)
            {
                continue;
            }
            let uses: Vec<&Use> = user
                .unit
                .uses
                .iter()
                .filter(|it| it.name == lost.name && it.of.is_empty())
                .collect();
            // Taken from whatever place: `use a::{b::Name}`.
            let takes = user.unit.uses.iter().filter(|it| it.name == lost.name);
            let bound = takes
                .filter(|it| match it.role {
                    UseRole::Taken => true,
                    UseRole::Bound => it.of.is_empty(),
                    UseRole::Key | UseRole::Written | UseRole::Read | UseRole::Called(_) => false,
                })
                .count();
            let mut offers = surface.offers.iter().filter(|it| !it.is_associated());
            let is_listed = offers.any(|it| it.name == lost.name);
            let places: BTreeSet<Break> = match &lost.what {
                What::Name if bound == 0 && !is_listed => uses
                    .iter()
                    .filter(|it| matches!(it.role, UseRole::Read | UseRole::Called(_)))
                    .map(|it| user.breaks(it.line))
                    .collect(),
                What::Shape { .. } if bound == 1 => self.misfits(lost, &lost.name),
                What::Name | What::Shape { .. } | What::Module => BTreeSet::new(),
            };
            if !places.is_empty() {
                breaks.entry(at).or_default().extend(places);
            }
        }
    }
}
