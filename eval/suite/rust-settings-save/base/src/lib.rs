//! The settings file of the thermostat panel.

pub mod settings;
pub mod store;
