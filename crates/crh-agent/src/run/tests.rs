mod counting;
mod ending;
mod limits;
mod properties;
mod protocols;
mod script;
mod trimming;
mod turns;
