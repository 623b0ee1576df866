//! The outbox in memory, backed by the journal.

use std::io;
use std::path::Path;

use crate::journal::Journal;
use crate::record::Job;

pub struct Outbox {
    journal: Journal,
    jobs: Vec<Job>,
}

impl Outbox {
    pub fn open(path: &Path) -> io::Result<Outbox> {
        let (journal, jobs) = Journal::open(path)?;
        Ok(Outbox { journal, jobs })
    }

    /// Adds a job. The payload must be a single line.
    pub fn add(&mut self, job: Job) -> io::Result<()> {
        if job.payload.contains('\n') {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "payload has more than one line",
            ));
        }
        self.journal.append(&job)?;
        self.jobs.push(job);
        Ok(())
    }

    /// The jobs that are due at `now`: by priority, then earliest first.
    pub fn due(&self, now: u64) -> Vec<&Job> {
        let mut due: Vec<&Job> = self.jobs.iter().filter(|j| j.due <= now).collect();
        due.sort_by_key(|j| (j.priority, j.due, j.id));
        due
    }
}
