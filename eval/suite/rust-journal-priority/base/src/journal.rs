//! The journal file. The process may die in the middle of an append, so the
//! last line can be torn; it is cut off when the journal is opened.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use crate::record::Job;

pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens the journal and returns the jobs in it.
    pub fn open(path: &Path) -> io::Result<(Journal, Vec<Job>)> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;

        let mut jobs = Vec::new();
        let mut good = 0u64;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            let Some(job) = parse(&line) else {
                // Torn by a crash: drop it, so that the next append starts on a fresh line.
                file.set_len(good)?;
                break;
            };
            jobs.push(job);
            good += read as u64;
        }
        Ok((Journal { file }, jobs))
    }

    pub fn append(&mut self, job: &Job) -> io::Result<()> {
        let mut line = job.encode();
        line.push('\n');
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()
    }
}

fn parse(line: &[u8]) -> Option<Job> {
    let line = line.strip_suffix(b"\n")?;
    Job::decode(std::str::from_utf8(line).ok()?)
}
