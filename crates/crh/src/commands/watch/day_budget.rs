//! The money that watched reviews may spend per day, kept in the user's state folder. All watchers
//! of the user share it.
//!
//! The limit of a review is booked before the review starts, and corrected afterwards. If crh is
//! killed in between, the day has less money left, never more.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::schedule::Day;
use crh_llm::Money;
use crh_os::files;
use crh_pipeline::run_folder::write_atomic;
use crh_review::stable_json;

/// Folder of the watchers in the state folder.
pub(super) const FOLDER: &str = "watch";
const FILE: &str = "spending.json";
/// Minimum share of its cost limit that a review needs to start. With less money, it would stop
/// early.
const SHARE_MIN_PERCENT: u64 = 10;

/// Why crh cannot use the stored spending of the day.
#[derive(Debug, thiserror::Error)]
pub(super) enum DayBudgetError {
    #[error("cannot read or write `{}`: {why}", .path.display())]
    Disk { path: PathBuf, why: io::Error },
    #[error("cannot parse `{}`, where crh stores the cost of watched reviews: {why}", .path.display())]
    Damaged { path: PathBuf, why: serde_json::Error },
}

/// Money that watched reviews have spent on one day, as stored.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DaySpending {
    /// Such as `20261117`, in UTC.
    day: String,
    picodollars: Money,
}

/// The budget of the user's watchers.
#[derive(Debug)]
pub(super) struct DayBudget {
    folder: PathBuf,
    limit: Money,
}

impl DayBudget {
    pub(super) fn new(state: &Path, limit: Money) -> Self {
        Self { folder: state.join(FOLDER), limit }
    }

    /// Books the money for a review: its limit, or what is left of the day. `None` if too little is
    /// left.
    pub(super) fn reserve(&self, day: &Day, limit: Money) -> Result<Option<Money>, DayBudgetError> {
        self.update(day, |spent| {
            let left = self.limit.minus(*spent);
            if left == Money::ZERO || left < limit.percent(SHARE_MIN_PERCENT) {
                return None;
            }
            let reserved = limit.min(left);
            *spent += reserved;
            Some(reserved)
        })
    }

    /// Replaces a booked amount by the real cost, if the day has not ended.
    pub(super) fn settle(
        &self,
        day: &Day,
        reserved: Money,
        cost: Money,
    ) -> Result<(), DayBudgetError> {
        self.update(day, |spent| *spent = spent.minus(reserved) + cost)
    }

    fn update<T>(
        &self,
        day: &Day,
        change: impl FnOnce(&mut Money) -> T,
    ) -> Result<T, DayBudgetError> {
        let path = self.folder.join(FILE);
        let disk = |why| DayBudgetError::Disk { path: path.clone(), why };
        files::create_private_folder(&self.folder).map_err(disk)?;
        // A lock on the file would be lost when the file is replaced, so the folder is locked.
        let lock = files::open_folder_lock(&self.folder).map_err(disk)?;
        lock.lock().map_err(disk)?;
        let damaged = |why| DayBudgetError::Damaged { path: path.clone(), why };
        let mut spending: DaySpending = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(damaged)?,
            Err(error) if error.kind() == ErrorKind::NotFound => DaySpending::default(),
            Err(error) => return Err(disk(error)),
        };
        // A review that ends after midnight counts for the day on which it began.
        if spending.day < day.0 {
            spending = DaySpending { day: day.0.clone(), picodollars: Money::ZERO };
        }
        let mut other_day = Money::ZERO;
        let is_today = spending.day == day.0;
        let result = change(if is_today { &mut spending.picodollars } else { &mut other_day });
        if is_today {
            let text = stable_json(&spending).map_err(|error| disk(error.into()))?;
            write_atomic(&path, text.as_bytes()).map_err(disk)?;
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(state: &Path) -> DayBudget {
        DayBudget::new(state, Money::cents(500))
    }

    fn day(name: &str) -> Day {
        Day(name.to_owned())
    }

    #[test]
    fn day_ends_when_its_money_is_booked_or_spent() {
        let state = tempfile::tempdir().unwrap();
        let budget = budget(state.path());
        let (today, review) = (day("20261117"), Money::cents(200));
        assert_eq!(budget.reserve(&today, review).unwrap(), Some(review));
        assert_eq!(budget.reserve(&today, review).unwrap(), Some(review));
        // Another watcher gets the rest.
        assert_eq!(budget.reserve(&today, review).unwrap(), Some(Money::cents(100)));
        assert_eq!(budget.reserve(&today, review).unwrap(), None);
        budget.settle(&today, review, Money::cents(181)).unwrap();
        // 19 cents are less than a tenth of the limit.
        assert_eq!(budget.reserve(&today, review).unwrap(), None);
        budget.settle(&today, review, Money::cents(10)).unwrap();
        assert_eq!(budget.reserve(&today, review).unwrap(), Some(review));
    }

    #[test]
    fn next_day_has_its_own_budget() {
        let state = tempfile::tempdir().unwrap();
        let budget = budget(state.path());
        let all = Money::cents(500);
        assert_eq!(budget.reserve(&day("20261117"), all).unwrap(), Some(all));
        assert_eq!(budget.reserve(&day("20261117"), all).unwrap(), None);
        assert_eq!(budget.reserve(&day("20261118"), all).unwrap(), Some(all));
        // The review of yesterday does not give money back today.
        budget.settle(&day("20261117"), all, Money::ZERO).unwrap();
        assert_eq!(budget.reserve(&day("20261118"), all).unwrap(), None);
    }

    #[test]
    fn damaged_file_is_an_error_that_names_it() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir(state.path().join(FOLDER)).unwrap();
        fs::write(state.path().join(FOLDER).join(FILE), "{").unwrap();
        let error = budget(state.path()).reserve(&day("20261117"), Money::cents(1)).unwrap_err();
        assert!(error.to_string().contains("spending.json"), "{error}");
    }
}
