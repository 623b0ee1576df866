//! Loads and saves the settings file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::settings::Settings;

/// A missing file is an empty set of settings.
pub fn load(path: &Path) -> io::Result<Settings> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(e) => return Err(e),
    };
    let mut settings = Settings::default();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, format!("bad line: {line}"));
        let (key, value) = line.split_once('=').ok_or_else(invalid)?;
        settings
            .set(key.trim(), value.trim())
            .map_err(|_| invalid())?;
    }
    Ok(settings)
}

const HEADER: &str = "# Written by the panel. Lines that start with # are ignored.";

/// Writes the settings as they are in the file, for example for a support ticket.
pub fn export(settings: &Settings, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for (key, value) in settings.iter() {
        writeln!(out, "{key} = {value}")?;
    }
    Ok(())
}

/// Replaces the file. After a crash or an error the old file is still there.
pub fn save(path: &Path, settings: &Settings) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut out = BufWriter::new(File::create(&temporary)?);
    export(settings, &mut out)?;
    out.get_ref().sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_starts_with_the_header() {
        let mut settings = Settings::default();
        settings.set("unit", "celsius").unwrap();
        let mut out = Vec::new();
        export(&settings, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, format!("{HEADER}\nunit = celsius\n"));
    }

    #[test]
    fn saved_settings_load_again() {
        let path = std::env::temp_dir().join(format!("thermo-{}.conf", std::process::id()));
        let mut settings = Settings::default();
        settings.set("night.target", "17.5").unwrap();
        settings.set("unit", "celsius").unwrap();
        save(&path, &settings).unwrap();
        let loaded = load(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(loaded, settings);
    }
}
