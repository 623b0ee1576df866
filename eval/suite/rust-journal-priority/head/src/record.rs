//! One job and its line in the journal.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: u64,
    /// Seconds since the epoch.
    pub due: u64,
    /// 0 is sent first.
    pub priority: u8,
    /// A single line.
    pub payload: String,
}

impl Job {
    /// `id TAB due TAB priority TAB payload`, without the line end.
    /// The payload comes last because it may contain tabs.
    pub fn encode(&self) -> String {
        format!(
            "{}\t{}\t{}\t{}",
            self.id, self.due, self.priority, self.payload
        )
    }

    /// The reverse of `encode`; `None` if the line is not a whole record.
    pub fn decode(line: &str) -> Option<Job> {
        let mut fields = line.splitn(4, '\t');
        Some(Job {
            id: fields.next()?.parse().ok()?,
            due: fields.next()?.parse().ok()?,
            priority: fields.next()?.parse().ok()?,
            payload: fields.next()?.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let job = Job {
            id: 7,
            due: 1_700_000_000,
            priority: 2,
            payload: "mail\tto the office".to_string(),
        };
        assert_eq!(Job::decode(&job.encode()), Some(job));
    }

    #[test]
    fn refuses_half_a_record() {
        assert_eq!(Job::decode("7\t1700000000\t2"), None);
    }
}
