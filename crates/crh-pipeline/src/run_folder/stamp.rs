//! Stamps of run folders: a keyed hash of the run's name shows that crh created the folder for this
//! user on this machine. The key is in the user's state folder, where no repository can put one.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tempfile::NamedTempFile;

use super::{read_bounded, write_atomic};
use crh_os::files;
use crh_os::files::is_own;

/// Name of the stamp in a run folder.
pub(super) const STAMP: &str = "stamp";
/// Name of the key in the state folder.
const KEY: &str = "stamp-key";
/// Length of the key: the output of the hash, as RFC 2104 recommends.
const KEY_BYTES: usize = 32;
/// Separates stamps from other uses of the key.
const DOMAIN: &[u8] = b"crh run ";
/// Permission bits of the group and of other users.
const OTHERS: u32 = 0o077;

/// The key that signs run folders.
#[derive(Clone)]
pub struct StampKey(Arc<hmac::Key>);

impl StampKey {
    /// Reads the key from the user's state folder. Creates folder and key if they do not exist.
    pub fn load_or_create(state: &Path) -> io::Result<Self> {
        if let Some(key) = Self::load(state)? {
            return Ok(key);
        }
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
        files::create_private_folder(state)?;
        let mut file = NamedTempFile::new_in(state)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(state.join(KEY)) {
            Ok(_) => {}
            // Another process was faster.
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error),
        }
        Self::load(state)?.ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Reads the key from the user's state folder. `None` if there is none yet.
    pub fn load(state: &Path) -> io::Result<Option<Self>> {
        let path = state.join(KEY);
        let invalid = |why: &str| {
            io::Error::new(ErrorKind::InvalidData, format!("`{}` {why}", path.display()))
        };
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let metadata = file.metadata()?;
        if !is_own(&metadata) || files::mode(&metadata).is_some_and(|mode| mode & OTHERS != 0) {
            return Err(invalid("can be read or written by other users"));
        }
        let mut bytes = Vec::new();
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        match bytes.len() {
            KEY_BYTES => Ok(Some(Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes))))),
            _ => Err(invalid("is damaged; delete it")),
        }
    }

    /// Stamps a run folder.
    pub fn write_stamp(&self, run: &Path) -> io::Result<()> {
        let tag = hmac::sign(&self.0, &message(run));
        write_atomic(&run.join(STAMP), tag.as_ref())
    }

    /// Whether this key has stamped the run folder.
    pub fn has_stamped(&self, run: &Path) -> bool {
        let is_folder = fs::symlink_metadata(run).is_ok_and(|it| it.is_dir() && is_own(&it));
        let tag = read_bounded(&run.join(STAMP), KEY_BYTES as u64);
        is_folder && tag.is_ok_and(|tag| hmac::verify(&self.0, &message(run), &tag).is_ok())
    }
}

impl fmt::Debug for StampKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StampKey")
    }
}

fn message(run: &Path) -> Vec<u8> {
    [DOMAIN, run.file_name().unwrap_or_default().as_encoded_bytes()].concat()
}
