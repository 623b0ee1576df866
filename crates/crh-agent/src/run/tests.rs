mod counting;
mod ending;
mod limits;
mod properties;
mod script;
mod talking;
mod trimming;
mod ways;
