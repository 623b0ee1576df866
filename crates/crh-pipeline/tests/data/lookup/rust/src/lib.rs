//! A shop: see [`cart::Cart`] and `round_money`.

pub mod cart;
pub mod money;
pub mod report;

pub use cart::Cart;
