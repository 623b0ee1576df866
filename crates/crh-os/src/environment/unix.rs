//! Unix: programs need no variables.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use rustix::fs::{Access, access};

pub(super) const HOME: &str = "HOME";
pub(super) const SYSTEM_PATH: &str = "/usr/bin:/bin";
pub(super) const SYSTEM_VARIABLES: &[&str] = &[];
pub(super) const USER_VARIABLES: &[&str] = &[];

pub(super) fn is_same_variable(name: &str, other: &str) -> bool {
    name == other
}

pub(super) fn program_in(name: &str, path: &OsStr) -> OsString {
    let is_program =
        |file: &PathBuf| file.is_file() && access(file.as_path(), Access::EXEC_OK).is_ok();
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let file = folders.map(|folder| folder.join(name)).find(is_program);
    file.filter(|_| !name.contains('/')).map_or_else(|| OsString::from(name), OsString::from)
}

#[cfg(test)]
mod tests {
    use super::program_in;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn program_is_the_first_executable_file_in_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for (name, mode) in [("a/plain", 0o644), ("a/folder/run", 0o755), ("b/run", 0o755)] {
            fs::create_dir_all(file(name).parent().unwrap()).unwrap();
            fs::write(file(name), "").unwrap();
            fs::set_permissions(file(name), Permissions::from_mode(mode)).unwrap();
        }
        let folders = ["relative".into(), file("a"), file("b"), file("a/folder")];
        let path = std::env::join_paths(folders).unwrap();
        assert_eq!(program_in("run", &path), file("b/run"));
        for name in ["plain", "folder", "folder/run", "missing"] {
            assert_eq!(program_in(name, &path), name);
        }
    }
}
